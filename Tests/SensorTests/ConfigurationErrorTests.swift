import EncryptedSQLite
import Foundation
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  /// Each a clear error through observer, log and broadcast; never a plaintext file, never silence.
  @Suite("Wrong configurations") struct WrongConfigurations {
    struct Case: Sendable, CustomTestStringConvertible {
      let name: String
      var key: String?
      var type = DatabaseType.sqlite
      var path: String?
      let code: AwareNotificationError.Code
      let remedy: String
      var testDescription: String { name }
    }

    static let cases = [
      Case(
        name: "a key with NONE", key: "words", type: .none, code: .invalidConfiguration, remedy: "set dbType to sqlite"),
      Case(name: "SQLite without a key", key: nil, code: .invalidConfiguration, remedy: "set the key"),
      Case(name: "an empty key", key: "", code: .emptyKey, remedy: "give a passphrase or a raw key"),
      Case(
        name: "an empty key with NONE", key: "", type: .none, code: .emptyKey, remedy: "give a passphrase or a raw key"),
      Case(
        name: "a raw key of 63 digits", key: "x'" + String(repeating: "a", count: 63) + "'", code: .invalidRawKey,
        remedy: "give 64 hexadecimal digits"),
      Case(
        name: "a raw key with a blank behind it", key: Keys.rawText + " ", code: .invalidRawKey,
        remedy: "with nothing around them"),
      Case(
        name: "a missing folder", key: Keys.rawText, path: "/nonexistent/store.sqlite", code: .notFound,
        remedy: "no such file or folder"),
    ]

    @Test(arguments: cases) func atStart(_ wrong: Case) throws {
      let bench = make(wrong)
      bench.sensor.start()
      try expectError(wrong, bench)
    }

    @Test(arguments: cases) func atTheFirstRecord(_ wrong: Case) throws {
      let bench = make(wrong)
      #expect(bench.push() == .failed)
      try expectError(wrong, bench)
    }

    private func make(_ wrong: Case) -> Bench {
      Bench(key: wrong.key, type: wrong.type) { if let path = wrong.path { $0.dbPath = path } }
    }

    private func expectError(_ wrong: Case, _ bench: Bench) throws {
      bench.settle()
      let error = try #require(bench.observer.errors.snapshot.first)
      #expect(bench.observer.errors.snapshot.count == 1)
      #expect(error.code == wrong.code)
      #expect(error.message.contains(wrong.remedy))
      let broadcast = try #require(bench.broadcasts(.actionAwareNotificationError).first)
      #expect((broadcast.userInfo?["error"] as? AwareNotificationError)?.message == error.message)
      #expect(bench.logged.snapshot.contains { $0.contains(error.message) })
      #expect(bench.folder.names == [])
    }

    @Test("Mended, the sensor stores what waited") func mended() throws {
      let bench = Bench(key: nil)
      #expect(bench.push(["n": 1]) == .failed)
      bench.config.dbEncryptionKey = Keys.rawText
      bench.sensor.start()
      #expect(try bench.stored { try $0.silentPushes.page(limit: 9).map(\.payload) } == [#"{"n":1}"#])
    }

    @Test("NONE without a key: one notice at start, no error") func none() {
      let bench = Bench(key: nil, type: .none)
      bench.sensor.start()
      bench.settle()
      #expect(bench.logged.snapshot.count == 1)
      #expect(bench.logged.snapshot.first?.contains("dbType is NONE") == true)
      #expect(bench.observer.errors.snapshot.isEmpty)
      _ = bench.push()
      #expect(bench.logged.snapshot.count == 1)
    }

    @Test("The default folder is made, for its owner, and the file is named as the public sensor names it")
    func defaultFolder() throws {
      let folder = TemporaryFolder()
      let keyFile = folder.write("key", Keys.rawText)
      let result = try Program.run(
        Program.helper, ["sensor", "  my store.sqlite ", keyFile, "1"],
        environment: ["XDG_DATA_HOME": folder.path("data")])
      #expect(result.output == "newData\nok\n", "\(result.errors)")
      #expect(FileManager.default.fileExists(atPath: folder.path("data/aware/my store.sqlite")))
      let mode = try FileManager.default.attributesOfItem(atPath: folder.path("data/aware"))[.posixPermissions] as? Int
      #expect(mode == 0o700)
    }

    @Test(arguments: [
      ("aware_notification", "aware_notification.sqlite"), ("a.sqlite", "a.sqlite"), ("", "aware.sqlite"),
      (" \n", "aware.sqlite"), (".sqlite", "aware.sqlite"), ("Study.SQLITE", "Study.sqlite"),
      ("a.sqlite.sqlite", "a.sqlite.sqlite"),
    ])
    func fileNames(_ names: (String, String)) {
      #expect(StoreLocation.fileName(names.0) == names.1)
    }
  }
}
