import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@Suite struct StoreSalvageTests {
  private let damaged = DamagedStore()
  private var folder: TemporaryFolder { damaged.folder }
  private var path: String { damaged.path }
  private var saved: String { damaged.saved }

  @Test("Rows that are in the log only are saved, and a damaged log is told of")
  func logs() throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 20)
    let store = try NotificationStore(.init(path: path, key: Keys.raw))
    for number in 1...5 { try store.silentPushes.insert(SilentPushData(payload: "late \(number)")) }
    let original = try damaged.rows(path)
    let left = ["", "-wal"].map { FileManager.default.contents(atPath: path + $0) ?? Data() }
    try store.close()
    unlink(path + "-shm")
    try left[0].write(to: URL(fileURLWithPath: path))
    try left[1].write(to: URL(fileURLWithPath: path + "-wal"))
    #expect(try damaged.salvage(of: original, "log")?.log == .read)
    var log = left[1]
    log[log.count / 2] ^= 1
    try log.write(to: URL(fileURLWithPath: path + "-wal"))
    let report = try StoreSalvage.salvage(path, into: saved, key: Keys.raw)
    if case .damaged(let commits) = report.log { #expect((1...4).contains(commits)) } else { Issue.record("not told") }
    #expect(!report.isWhole)
  }

  @Test("Cursor, device id and counters come along, and are told of when they are lost")
  func ledgerAndProperties() throws {
    let store = try SampleStore(path, key: Keys.raw, pages: 70)
    func ledger(_ path: String) throws -> [String] {
      let connection = try Connection.open(path, key: Keys.raw, options: .init(access: .readOnly))
      var rows: [String] = []
      for query in ["upload_ledger", "store_property", "sqlite_sequence ORDER BY name"] {
        try connection.forEachRow("SELECT * FROM \(query)") { rows.append(DamagedStore.text($0)) }
      }
      try connection.close()
      return rows
    }
    let before = try ledger(path)
    _ = try StoreSalvage.salvage(path, into: saved, key: Keys.raw)
    #expect(try ledger(saved) == before)
    unlink(saved)
    var told: Set<String> = []
    for table in ["upload_ledger", "store_property"] {
      let raw = RawSQLite(path, key: try Keys.raw)
      let page = raw.integer("SELECT rootpage FROM sqlite_master WHERE name = '\(table)'")
      raw.close()
      try Damage.flipBit(path, at: store.offset(of: page) + 20)
      let report = try StoreSalvage.salvage(path, into: saved, key: Keys.raw)
      if report.lostCursors == NotificationStore.tables { told.insert("upload_ledger") }
      if report.deviceId == .fromRecords, !report.hasAllProperties { told.insert("store_property") }
      #expect(!report.isWhole && report.tables.allSatisfy(\.isWhole))
      #expect(try StoreVerification(path: saved, key: Keys.raw).isSound)
      unlink(saved)
      try Damage.flipBit(path, at: store.offset(of: page) + 20)
    }
    #expect(told == ["upload_ledger", "store_property"])
  }

  @Test("Nothing is made where nothing can be read, or over a file that is there")
  func refusals() throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 20)
    let before = folder.contents
    #expect(Keys.error { _ = try StoreSalvage.salvage(path, into: saved, key: Keys.wrong) } == .wrongKey)
    #expect(Keys.error { _ = try StoreSalvage.salvage(path, into: path, key: Keys.raw) } == .alreadyExists)
    #expect(Keys.error { _ = try StoreSalvage.salvage(folder.path("none"), into: saved, key: Keys.raw) } == .notFound)
    #expect(folder.contents == before)
    let small = folder.path("small.db")
    try SmallStore.make(small, Keys.raw)
    #expect(Keys.error { _ = try StoreSalvage.salvage(small, into: saved, key: Keys.raw) } == .corrupt)
    #expect(!folder.names.contains("saved.db"))
  }

  @Test("A store with another page size and number of rounds is salvaged with both")
  func cipherSettings() throws {
    let sample = try SampleStore(folder.path("sample.db"), key: Keys.raw, pages: 100)
    let raw = RawSQLite(sample.path, key: try Keys.raw)
    let made = raw.execute(
      """
      ATTACH '\(path)' AS other KEY 'some words'; PRAGMA other.cipher_page_size = 2048; PRAGMA other.kdf_iter = 5000;
      SELECT sqlcipher_export('other'); PRAGMA other.user_version = 2; DETACH other;
      """)
    raw.close()
    #expect(made == 0)
    let key = try EncryptionKey("some words")
    try Damage.flipBit(path, at: 39 * 2048 + 20)
    let before = folder.contents
    for settings in [Cipher.Settings(), .init(pageSize: 2048), .init(kdfIterations: 5000)] {
      let error = Keys.error { _ = try StoreSalvage.salvage(path, into: saved, key: key, settings: settings) }
      #expect(error == .wrongKey, "\(settings)")
    }
    #expect(
      Keys.error { _ = try StoreSalvage.salvage(path, into: saved, key: key, settings: .init(pageSize: 1000)) }
        == .invalidArgument)
    #expect(folder.contents == before)
    let report = try StoreSalvage.salvage(
      path, into: saved, key: key, settings: .init(pageSize: 2048, kdfIterations: 5000))
    #expect(!report.isWhole && report.tables.reduce(0) { $0 + $1.saved } > 20)
    #expect(try StoreVerification(path: saved, key: key).isSound)
  }

  @Test("Rows with the smallest and the largest id there are, and a ledger that cannot be, come out sound")
  func extremes() throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 60)
    let raw = RawSQLite(path, key: try Keys.raw)
    let changes = raw.execute(
      """
      UPDATE ios_silent_push SET id = 9223372036854775807 WHERE id = 2;
      UPDATE ios_silent_push SET id = -9223372036854775808 WHERE id = 1;
      UPDATE ios_notification SET id = 9223372036854775806 WHERE id = 1;
      UPDATE upload_ledger SET attempts = 9223372036854775807, notBefore = -1, firstId = -9223372036854775808;
      INSERT INTO upload_quarantine VALUES ('ios_notification', -9223372036854775808, x'00', 'words', 7);
      UPDATE delivery_receipt SET attempts = x'', recordId = 'none' WHERE id = 1;
      """)
    #expect(changes == 0)
    let counts = ["ios_notification", "ios_silent_push"].map { raw.integer("SELECT count(*) FROM \($0)") }
    raw.execute("DELETE FROM sqlite_sequence")
    raw.close()
    let report = try StoreSalvage.salvage(path, into: saved, key: Keys.raw)
    #expect(report.tables.filter { ["ios_notification", "ios_silent_push"].contains($0.name) }.map(\.saved) == counts)
    #expect(try StoreVerification(path: saved, key: Keys.raw).isSound)
  }

  @Test("Interrupted at whatever question, it leaves nothing")
  func interrupted() throws {
    let store = try SampleStore(path, key: Keys.raw, pages: 100)
    try Damage.flipBit(path, at: store.offset(of: 60) + 20)
    let before = folder.contents
    var questions = 0
    _ = try StoreSalvage.salvage(path, into: saved, key: Keys.raw) {
      questions += 1
      return false
    }
    unlink(saved)
    #expect(questions > 20)
    for last in 1...questions {
      var asked = 0
      let error = Keys.error {
        _ = try StoreSalvage.salvage(path, into: saved, key: Keys.raw) {
          asked += 1
          return asked >= last
        }
      }
      #expect(error == .cancelled, "question \(last)")
      #expect(folder.contents == before, "question \(last)")
    }
  }

  @Test(
    "A store that another process has open, or is writing to, is not salvaged",
    arguments: [
      ("WAL", "keep", "SELECT 1"), ("WAL", "hold", "UPDATE store_property SET value = 'x'"),
      ("DELETE", "hold", "UPDATE store_property SET value = 'x'"), ("DELETE", "hold", "SELECT * FROM store_property"),
    ])
  func inUse(mode: String, command: String, sql: String) throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 20)
    #expect(try RawSQLite(path, key: Keys.raw).execute("PRAGMA journal_mode = \(mode)") == 0)
    let keys = TemporaryFolder()
    let user = try Program.start(Program.helper, [command, path, keys.write("key", Keys.rawText), sql])
    try #require(user.waitForLine(command == "keep" ? "keeping" : "holding"))
    let names = folder.names
    #expect(Keys.error { _ = try StoreSalvage.salvage(path, into: saved, key: Keys.raw) } == .busy)
    #expect(folder.names == names)
    user.kill()
    _ = user.finish()
    #expect(try StoreSalvage.salvage(path, into: saved, key: Keys.raw).isWhole)
  }

  @Test("A store that changes while it is copied, or afterwards, is not salvaged", arguments: [1, 5])
  func changed(question: Int) throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 20)
    let names = folder.names
    var asked = 0
    let error = Keys.error {
      _ = try StoreSalvage.salvage(path, into: saved, key: Keys.raw) {
        asked += 1
        if asked == question {
          // A step of the file system's clock.
          usleep(20_000)
          do { try Damage.flipBit(path, at: 5000) } catch { Issue.record(error) }
        }
        return false
      }
    }
    #expect(error == .busy)
    #expect(folder.names == names)
  }
}
