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

  /// Whether it is found, as a fault or because the store does not open any more.
  func isFound() throws -> Bool {
    do {
      return try !verify().isSound
    } catch let error as DatabaseError where [.wrongKey, .corrupt, .emptyFile].contains(error.code) {
      return true
    }
  }

  @Test("A flipped bit is found in every page: tables, indexes, overflow, free ones")
  func flippedBits() throws {
    let store = try SampleStore(path, key: Keys.raw)
    #expect(store.pages >= 300)
    #expect(try verify().isSound)
    let connection = try Connection.open(path, key: Keys.raw, options: .init(access: .readOnly))
    let isOld = connection.cipher.generation < 4
    #expect(try connection.integer("PRAGMA freelist_count") ?? 0 > 10)
    try connection.close()
    // Behind its MAC a page of the old format has twelve bytes that nothing authenticates.
    let authenticated = store.pageSize - (isOld ? 12 : 0)
    var generator = SeededGenerator(seed: 1)
    for page in 1...store.pages {
      let offset = store.offset(of: page) + Int.random(in: 0..<authenticated, using: &generator)
      try Damage.flipBit(path, at: offset)
      #expect(try isFound(), "page \(page)")
      try Damage.flipBit(path, at: offset)
    }
    #expect(try verify().isSound)
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

  @Test("A page of zeros is found, whatever it was")
  func zeroedPages() throws {
    let store = try SampleStore(path, key: Keys.raw, pages: 100)
    let connection = try Connection.open(path, key: Keys.raw)
    try connection.execute("VACUUM")
    let pages = try connection.pageCount
    try connection.close()
    let whole = try #require(FileManager.default.contents(atPath: path))
    for page in 2...pages {
      var bytes = whole
      bytes.resetBytes(in: store.offset(of: page)..<store.offset(of: page + 1))
      try bytes.write(to: URL(fileURLWithPath: path))
      #expect(try isFound(), "page \(page)")
    }
  }

  @Test("A file that was cut is found, at every page and at odd sizes, and so is one with something behind it")
  func truncation() throws {
    let store = try SampleStore(path, key: Keys.raw)
    let whole = try #require(FileManager.default.contents(atPath: path))
    let cuts = (0..<store.pages).map { $0 * store.pageSize }
    var generator = SeededGenerator(seed: 2)
    let odd = (0..<Campaign.count(20)).map { _ in Int.random(in: 0..<whole.count, using: &generator) }
    let every = Campaign.isLong ? cuts : cuts.enumerated().filter { $0.offset % 10 < 2 }.map(\.element)
    for size in every + [0, 1, 2, 15, 16, 17, 511, 1023, whole.count - 1] + odd {
      try whole.prefix(size).write(to: URL(fileURLWithPath: path))
      #expect(try isFound(), "\(size) bytes")
    }
    for excess in [1, 7, store.pageSize] {
      try (whole + Data(repeating: 1, count: excess)).write(to: URL(fileURLWithPath: path))
      #expect(try isFound(), "\(excess) bytes more")
    }
    try whole.write(to: URL(fileURLWithPath: path))
    #expect(try verify().isSound)
  }

  @Test("A damaged log is found when a commit is lost by it, and one that a kill left is sound")
  func damagedLogs() throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 20)
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

  @Test("What is not the store's own is named: tables, indexes, triggers, views, virtual tables")
  func foreignObjects() throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 20)
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

  @Test("At most twenty faults of a check are named, and nothing of the content")
  func faultsAreBounded() throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 20)
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
      "UPDATE upload_ledger SET idempotencyKey = 'k', digest = x'00', envelopeTime = 1, encoderVersion = 1, "
        + "serverType = 's', destination = 'd', rowCount = 1, firstId = sentThroughId + 2, lastId = sentThroughId + 1",
    ])
  func senselessLedgers(change: String) throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 20)
    #expect(try faults("ledger").isEmpty)
    #expect(try RawSQLite(path, key: Keys.raw).execute(change) == 0)
    #expect(try !faults("ledger").isEmpty)
  }

  @Test("A batch in flight that fits the records is sound")
  func soundBatch() throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 20)
    try RawSQLite(path, key: Keys.raw).execute(
      "UPDATE upload_ledger SET idempotencyKey = 'k', digest = x'00', envelopeTime = 1, encoderVersion = 1, "
        + "serverType = 's', destination = 'd', rowCount = 1, firstId = sentThroughId + 1, lastId = sentThroughId + 1")
    #expect(try verify().isSound)
  }

  @Test("Records with the identity of another, and beyond the counter of ids, are found")
  func senselessRecords() throws {
    _ = try SampleStore(path, key: Keys.raw, pages: 20)
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
