import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  @Suite("Copies") struct Copies {
    private let bench = Bench()
    private var copy: String { bench.folder.path("copy") }

    private func ask(
      _ work: (@escaping (Result<BackupReport, AwareNotificationError>) -> Void) -> Void
    ) -> Result<BackupReport, AwareNotificationError>? {
      let results = Locked<[Result<BackupReport, AwareNotificationError>]>([])
      work { result in results.withLock { $0.append(result) } }
      bench.settle()
      #expect(results.snapshot.count == 1)
      return results.snapshot.first
    }

    @Test("A backup is restored while the sensor goes on") func backupAndRestore() throws {
      _ = bench.push(["n": 1])
      let report = try #require(ask { bench.sensor.backup(to: copy, completionHandler: $0) }).get()
      #expect(report.counts["ios_silent_push"] == 1)
      _ = bench.push(["n": 2])
      _ = try #require(ask { bench.sensor.restore(from: copy, completionHandler: $0) }).get()
      #expect(bench.push(["n": 3]) == .newData)
      #expect(try bench.stored { try $0.silentPushes.page(limit: 9).map(\.payload) } == [#"{"n":1}"#, #"{"n":3}"#])
      #expect(bench.observer.errors.snapshot.isEmpty)
    }

    @Test("A backup from before a rotation is restored, with its key") func olderBackup() throws {
      _ = bench.push(["n": 1])
      _ = try #require(ask { bench.sensor.backup(to: copy, completionHandler: $0) }).get()
      let new = "x'" + String(repeating: "5", count: 64) + "'"
      bench.sensor.rotateEncryptionKey(to: try EncryptionKey(new))
      _ = bench.push(["n": 2])
      #expect(ask { bench.sensor.restore(from: copy, completionHandler: $0) }?.failure?.code == .wrongKey)
      let key = try Keys.raw
      _ = try #require(ask { bench.sensor.restore(from: copy, backupKey: key, completionHandler: $0) }).get()
      bench.config.dbEncryptionKey = new
      #expect(bench.push(["n": 3]) == .newData)
      #expect(try bench.stored { try $0.silentPushes.page(limit: 9).map(\.payload) } == [#"{"n":1}"#, #"{"n":3}"#])
    }

    @Test("A failure is told, and the store is as it was") func failures() throws {
      _ = bench.push(["n": 1])
      #expect(ask { bench.sensor.restore(from: copy, completionHandler: $0) }?.failure?.code == .notFound)
      _ = bench.folder.write("copy", "somebody's")
      #expect(ask { bench.sensor.backup(to: copy, completionHandler: $0) }?.failure?.code == .alreadyExists)
      #expect(bench.push(["n": 2]) == .newData)
      #expect(try bench.stored { try $0.silentPushes.count() } == 2)
      #expect(bench.observer.errors.snapshot.map(\.code) == [.notFound, .alreadyExists])
    }

    @Test(
      "legacyCipherPolicy: an older file is used as it is with a notice, or upgraded",
      .enabled(if: Fixture.readableGenerations.count > 1, "only a newer library upgrades"), arguments: [true, false])
    func legacyCipher(_ upgrades: Bool) throws {
      let golden = try Fixture.golden(3, in: bench.folder)
      bench.config.dbPath = golden
      bench.config.dbEncryptionKey = Fixture.goldenKey
      bench.config.legacyCipherPolicy = upgrades ? .upgrade : .openAsIs
      #expect(bench.push(["n": 1]) == .newData)
      bench.sensor.stop()
      bench.settle()
      let status = try StoreStatus(path: golden, key: try EncryptionKey(Fixture.goldenKey))
      #expect(status.cipher.generation == (upgrades ? 4 : 3))
      #expect(bench.logged.snapshot.contains { $0.contains("legacyCipherPolicy") } == !upgrades)
      #expect(bench.observer.errors.snapshot.isEmpty)
    }

    @Test("The default is to use an older file as it is") func legacyDefault() {
      #expect(NotificationSensor.Config().legacyCipherPolicy == .openAsIs)
    }
  }
}
