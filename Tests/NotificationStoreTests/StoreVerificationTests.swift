import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@Suite struct StoreVerificationTests {
  let folder = TemporaryFolder()
  var path: String { folder.path("store.db") }

  func verify() throws -> StoreVerification { try StoreVerification(path: path, key: Keys.raw) }

  /// The faults of one check.
  func faults(_ name: String) throws -> [String] {
    try #require(try verify().checks.first { $0.name == name }).faults
  }

  @Test("The damaged page is named")
  func damagedPageIsNamed() throws {
    let store = try SampleStore(path, key: Keys.raw, pages: 100)
    for page in [2, 50, store.pages] {
      try Damage.flipBit(path, at: store.offset(of: page) + 20)
      #expect(try faults("pages").contains { $0.contains("page \(page)") }, "page \(page)")
      try Damage.flipBit(path, at: store.offset(of: page) + 20)
    }
  }

  @Test("Every damaged page is named, up to twenty")
  func allDamagedPagesAreNamed() throws {
    let store = try SampleStore(path, key: Keys.raw, pages: 100)
    let damaged = [2, 3, 50, store.pages]
    for page in damaged { try Damage.flipBit(path, at: store.offset(of: page) + 20) }
    let before = folder.contents
    let found = try faults("pages")
    for page in damaged {
      #expect(found.filter { $0.contains("page \(page) ") || $0.hasSuffix("page \(page)") }.count == 1, "\(found)")
    }
    #expect(found.count == damaged.count)
    let report = try verify()
    #expect(report.checks.filter(\.isSkipped).map(\.name) == ["ledger", "records"])
    #expect(report.checks.filter(\.isSkipped).flatMap(\.faults) == [])
    #expect(report.checks.contains { $0.name == "integrity" && !$0.faults.isEmpty })
    #expect(folder.contents == before)
    for page in 60..<90 { try Damage.flipBit(path, at: store.offset(of: page) + 20) }
    #expect(try (20...21).contains(faults("pages").count))
    #expect(try faults("pages").count >= 20)
  }

  @Test("A damaged log is found when a commit is lost by it, and one that a kill left is sound")
  func damagedLogs() throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 40)
    // What a killed program leaves: copied while another connection keeps the log.
    let store = try NotificationStore(.init(path: path, key: Keys.raw))
    for number in 1...5 { try store.silentPushes.insert(SilentPushData(payload: "\(number)")) }
    let left = ["", "-wal"].map { FileManager.default.contents(atPath: path + $0) ?? Data() }
    try store.close()
    func putBack(_ log: Data) throws {
      unlink(path + "-shm")
      try left[0].write(to: URL(fileURLWithPath: path))
      try log.write(to: URL(fileURLWithPath: path + "-wal"))
    }
    try putBack(left[1])
    #expect(try verify().isSound)
    // Cut in the middle of a frame: that commit was never there.
    try putBack(left[1].prefix(left[1].count - 100))
    #expect(try verify().isSound)
    for offset in [9, 33 + 24, left[1].count / 2, left[1].count - 100] {
      var log = left[1]
      log[offset] ^= 1
      try putBack(log)
      #expect(try faults("log").count == 1, "byte \(offset)")
    }
  }

  @Test(
    "Damage of a log is told from damage of the one that came after it, and is the same with more commits behind it")
  func lossesInLogs() throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 40)
    let store = try NotificationStore(.init(path: path, key: Keys.raw))
    let other = TemporaryFolder()
    func loss() throws -> WriteAheadLog.Loss? {
      for number in 1...3 { try store.silentPushes.insert(SilentPushData(payload: "\(number)")) }
      var log = try #require(FileManager.default.contents(atPath: path + "-wal"))
      log[100] ^= 1
      try log.write(to: URL(fileURLWithPath: other.path("log-wal")))
      return try WriteAheadLog(of: other.path("log")).loss
    }
    let first = try #require(try loss())
    let more = try #require(try loss())
    #expect(first == more && first.commits < more.commits)
    try store.database.write { _ in }
    try store.database.withWriter { try $0.foldLogIn() }
    #expect(try #require(try loss()) != first)
    try store.close()
  }

  @Test("What is not the store's own is named: tables, indexes, triggers, views, virtual tables")
  func foreignObjects() throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 40)
    let raw = RawSQLite(path, key: try Keys.raw)
    raw.execute(
      """
      CREATE TABLE other (x); CREATE INDEX other_index ON ios_notification (title); CREATE VIEW other_view AS SELECT 1;
      CREATE TRIGGER other_trigger AFTER INSERT ON ios_silent_push BEGIN DELETE FROM ios_notification; END;
      CREATE VIRTUAL TABLE other_words USING fts4(x);
      """)
    raw.close()
    let faults = try faults("foreign objects")
    for object in [
      "table other", "index other_index", "view other_view", "trigger other_trigger", "table other_words",
    ] {
      #expect(faults.contains("the \(object) is not of this store"))
    }
  }

  @Test("A trigger that is not as its migration made it, is missing, or has the name of a table, is found")
  func triggers() throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 40)
    let raw = RawSQLite(path, key: try Keys.raw)
    raw.execute("DROP TRIGGER ios_silent_push_complete; DROP TRIGGER ios_notification_complete")
    raw.execute(
      """
      CREATE TRIGGER ios_notification_complete AFTER INSERT ON ios_notification BEGIN DELETE FROM ios_notification; END;
      CREATE TRIGGER ios_notification AFTER INSERT ON ios_notification BEGIN DELETE FROM ios_notification; END;
      CREATE TRIGGER ios_notification_push AFTER INSERT ON ios_notification BEGIN DELETE FROM ios_notification; END;
      """)
    raw.close()
    let faults = try (faults("schema"), faults("foreign objects"))
    #expect(
      faults.0 == [
        "ios_notification_complete is not as its migration made it", "ios_silent_push_complete is missing",
      ])
    #expect(
      Set(faults.1) == [
        "the trigger ios_notification is not of this store", "the trigger ios_notification_push is not of this store",
      ])
  }

  @Test("At most twenty faults of a check are named, and nothing of the content")
  func faultsAreBounded() throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 40)
    let raw = RawSQLite(path, key: try Keys.raw)
    for number in 1...50 { raw.execute("CREATE TABLE other\(number) (x)") }
    raw.close()
    #expect(try faults("foreign objects").count == 21)
    let other = TemporaryFolder()
    let store = try SampleStore(other.path("store.db"), key: Keys.raw, pages: 100)
    try RawSQLite(store.path, key: Keys.raw).execute("UPDATE ios_notification SET recordId = 'secret' || id")
    let report = try StoreVerification(path: store.path, key: Keys.raw)
    let records = try #require(report.checks.first { $0.name == "records" })
    #expect(records.faults.count == 21 && records.faults[0].contains("row 1 is no UUID"))
    #expect(!report.checks.contains { $0.faults.joined().contains("secret") })
  }

  @Test(
    "A ledger that makes no sense is found",
    arguments: [
      "UPDATE upload_ledger SET sentThroughId = 100000", "UPDATE upload_ledger SET sentThroughId = -1",
      "UPDATE upload_ledger SET sentThroughId = 'x'", "UPDATE upload_ledger SET firstId = 1",
      "UPDATE upload_ledger SET attempts = -1", "UPDATE upload_ledger SET notBefore = -1",
      "DELETE FROM upload_ledger WHERE tableName = 'ios_silent_push'",
      "INSERT INTO upload_ledger (tableName) VALUES ('other')", "UPDATE delivery_receipt SET attempts = -1",
      "UPDATE delivery_receipt SET recordId = 'x' WHERE id = 1", "UPDATE store_property SET value = ''",
      "UPDATE upload_ledger SET idempotencyKey = 'k', digest = zeroblob(32), envelopeTime = 1, encoderVersion = 1, "
        + "serverType = 's', destination = 'd', rowCount = 1, firstId = sentThroughId + 2, lastId = sentThroughId + 1",
    ])
  func senselessLedgers(change: String) throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 40)
    #expect(try faults("ledger").isEmpty)
    #expect(try RawSQLite(path, key: Keys.raw).execute(change) == 0)
    #expect(try !faults("ledger").isEmpty)
  }

  @Test("A batch in flight that fits the records is sound")
  func soundBatch() throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 40)
    try RawSQLite(path, key: Keys.raw).execute(
      "UPDATE upload_ledger SET idempotencyKey = 'k', digest = zeroblob(32), envelopeTime = 1, encoderVersion = 1, "
        + "serverType = 's', destination = 'd', rowCount = 1, firstId = sentThroughId + 1, lastId = sentThroughId + 1")
    #expect(try verify().isSound)
  }

  @Test("Records with the identity of another, and beyond the counter of ids, are found")
  func senselessRecords() throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 40)
    let raw = RawSQLite(path, key: try Keys.raw)
    raw.execute(
      "UPDATE sqlite_sequence SET seq = 3 WHERE name = 'ios_notification'; UPDATE upload_ledger SET sentThroughId = 0"
    )
    #expect(try faults("records").contains { $0.hasSuffix("is beyond the counter of ids") })
    // An index that does not say UNIQUE, as the schema does not tell it.
    raw.execute(
      """
      PRAGMA writable_schema = ON;
      UPDATE sqlite_master SET sql = replace(sql, 'UNIQUE ', '') WHERE name = 'ios_silent_push_recordId';
      """)
    raw.close()
    let loose = RawSQLite(path, key: try Keys.raw)
    loose.execute(
      """
      UPDATE ios_silent_push SET recordId = (SELECT recordId FROM ios_silent_push WHERE id = 1) WHERE id = 2;
      PRAGMA writable_schema = ON;
      UPDATE sqlite_master SET sql = replace(sql, 'INDEX', 'UNIQUE INDEX') WHERE name = 'ios_silent_push_recordId';
      """)
    loose.close()
    #expect(try !verify().isSound)
  }
}
