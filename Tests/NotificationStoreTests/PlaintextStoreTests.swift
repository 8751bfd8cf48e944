import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@Suite struct PlaintextStoreTests {
  let folder = TemporaryFolder()
  var path: String { folder.path("store.db") }

  func adopt(_ deviceId: String? = nil, _ syncedThrough: [String: Int64] = [:], wait: Double = 0) throws
    -> AdoptionReport?
  {
    try PlaintextStore.adopt(
      at: path, key: Keys.raw, deviceId: deviceId, syncedThrough: syncedThrough, busyTimeout: wait)
  }

  /// That the adoption fails, twice, and the folder is afterwards as it was, but for the index of a log.
  func expectRefusal(_ code: DatabaseError.Code, naming text: String) {
    let before = folder.contents.filter { !$0.key.hasSuffix("-shm") }
    for _ in 1...2 {
      do {
        _ = try adopt()
        Issue.record("it was adopted")
      } catch let error as DatabaseError {
        #expect(error.code == code && error.message.contains(text), "\(error)")
      } catch {
        Issue.record(error)
      }
    }
    #expect(folder.contents.filter { !$0.key.hasSuffix("-shm") } == before)
  }

  func value(_ sql: String) throws -> Int64? {
    let store = try NotificationStore(.init(path: path, key: Keys.raw, access: .readOnly))
    return try store.database.read { try $0.integer(sql) }
  }

  /// That the store at the path is the golden one, and nothing else is left.
  func expectAdopted(at path: String? = nil, names: [String] = ["store.db"]) throws {
    #expect(folder.names == names)
    #expect(PublicSensor.plaintext(in: folder.contents) == [])
    let store = try NotificationStore(.init(path: path ?? self.path, key: Keys.raw))
    #expect(try exported(store) == Fixture.text("v2_expected.jsonl"))
    // The id of the deleted row is not given out again.
    #expect(try store.notifications.insert(NotificationData()).id == 13)
    try store.close()
    #expect(try StoreVerification(path: path ?? self.path, key: Keys.raw).isSound)
  }

  func exported(_ store: NotificationStore) throws -> String {
    var bytes: [UInt8] = []
    for table in NotificationStore.tables { try store.export(table, format: .jsonLines) { bytes += $0 } }
    return String(decoding: bytes, as: UTF8.self)
  }

  // MARK: Adopting

  @Test(arguments: [false, true]) func everyRowComesOverAndNothingElseIsLeft(isKilled: Bool) throws {
    try PublicSensor.make(path, isKilled: isKilled)
    #expect(PlaintextStore.isPlaintext(at: path) && PlaintextStore.needsAdoption(at: path))
    #expect(!PublicSensor.plaintext(in: folder.contents).isEmpty)
    let report = try #require(try adopt())
    #expect(report.counts == ["ios_notification": 4, "ios_notification_token": 1, "ios_silent_push": 1])
    #expect(report.deviceId == "5B3E0F9C-6D0A-4E0B-9F63-1B7A4C2D9E11" && !report.isOnlyFinished)
    #expect(!PlaintextStore.isPlaintext(at: path) && !PlaintextStore.needsAdoption(at: path))
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
    #expect(mode?.intValue == 0o600)
    #expect(try StoreStatus(path: path, key: Keys.raw).journalMode == "wal")
    #expect(try adopt() == nil)
    try expectAdopted()
  }

  @Test func adoptingACopyTwiceGivesTheSameRecordIds() throws {
    try PublicSensor.make(path)
    let copy = TemporaryFolder()
    try FileManager.default.copyItem(atPath: path, toPath: copy.path("copy.db"))
    _ = try adopt()
    _ = try PlaintextStore.adopt(at: copy.path("copy.db"), key: Keys.passphrase)
    let first = try NotificationStore(.init(path: path, key: Keys.raw))
    let second = try NotificationStore(.init(path: copy.path("copy.db"), key: Keys.passphrase))
    #expect(try exported(first) == exported(second))
  }

  @Test(arguments: [false, true]) func anotherPlaceMayBeNamed(isKilled: Bool) throws {
    try PublicSensor.make(path, isKilled: isKilled)
    let destination = folder.path("new.db")
    let report = try #require(try PlaintextStore.adopt(at: path, into: destination, key: Keys.raw))
    #expect(report.path.hasSuffix("/new.db"))
    try expectAdopted(at: destination, names: ["new.db"])
    #expect(try PlaintextStore.adopt(at: path, into: destination, key: Keys.raw) == nil)
  }

  @Test(arguments: ["new.db", "new.db-wal"]) func anotherPlaceMustBeFree(name: String) throws {
    try PublicSensor.make(path)
    _ = folder.write(name, "theirs")
    let before = folder.contents
    #expect(
      Keys.error { _ = try PlaintextStore.adopt(at: path, into: folder.path("new.db"), key: Keys.raw) }
        == .alreadyExists)
    #expect(folder.contents == before)
  }

  @Test func cursorAndDeviceIdAreTakenOver() throws {
    try PublicSensor.make(path)
    // A row that was deleted counts: 12 was the last id given out.
    let report = try adopt("given", ["ios_notification": 12, "ios_silent_push": 1])
    #expect(report?.deviceId == "given")
    #expect(try NotificationStore(.init(path: path, key: Keys.raw)).deviceId == "given")
    let sent = "SELECT sentThroughId FROM upload_ledger WHERE tableName = "
    #expect(try value(sent + "'ios_notification'") == 12)
    #expect(try value(sent + "'ios_silent_push'") == 1)
    #expect(try value(sent + "'ios_notification_token'") == 0)
  }

  /// It belongs to another file, and would mark rows as sent that never were.
  @Test(arguments: [
    ("ios_notification", Int64(13), Int64(12)), ("ios_silent_push", 2, 1), ("ios_notification_token", .max, 1),
  ])
  func aCursorBeyondTheLastIdIsRefusedOrCountsAs0(table: String, id: Int64, last: Int64) throws {
    try PublicSensor.make(path)
    let before = folder.contents
    var error: DatabaseError?
    do { _ = try adopt(nil, [table: id]) } catch let failure as DatabaseError { error = failure }
    #expect(error?.code == .foreignCursor)
    for part in ["\(table) is \(id),", "largest id", "is \(last),"] { #expect(error?.message.contains(part) == true) }
    #expect(folder.contents == before)
    let report = try #require(
      try PlaintextStore.adopt(at: path, key: Keys.raw, syncedThrough: [table: id], ignoringForeignCursors: true))
    #expect(report.ignoredCursors.map(\.code) == [.foreignCursor])
    #expect(try value("SELECT sum(sentThroughId) FROM upload_ledger") == 0)
  }

  /// A file without AUTOINCREMENT has no counters, and need not have all tables.
  @Test func withoutCountersTheLargestIdCounts() throws {
    let tables = try Fixture.text("v1_rows.sql").split(separator: ";").filter { $0.contains("\"ios_notification\"") }
    let sql = try #require(tables.first).replacingOccurrences(of: " AUTOINCREMENT", with: "")
    let row = "INSERT INTO ios_notification VALUES (4, 1, 'd', '', 0, 'iOS', 1, '', '', '', '', '', '', 0, '', 0)"
    for (table, id, isTaken) in [("ios_notification", Int64(4), true), ("ios_notification", 5, false)]
      + [("ios_silent_push", 0, true), ("ios_silent_push", 1, false)]
    {
      try PublicSensor.run(path, sql, row)
      let code = Keys.error { _ = try adopt(nil, [table: id]) }
      #expect(code == (isTaken ? nil : .foreignCursor), "\(table) \(id)")
      unlink(path)
    }
  }

  @Test func theDeviceIdIsThatOfTheNewestRowWithOne() throws {
    try PublicSensor.make(
      path, isKilled: false,
      "UPDATE ios_silent_push SET timestamp = 1999999999999, deviceId = '';"
        + "UPDATE ios_notification_token SET timestamp = 1888888888888, deviceId = 'newest'")
    #expect(try adopt("")?.deviceId == "newest")
  }

  @Test(arguments: [["ios_notification": Int64(-1)], ["other": 1]])
  func aCursorThatMakesNoSenseIsRefused(syncedThrough: [String: Int64]) throws {
    try PublicSensor.make(path)
    let before = folder.contents
    #expect(Keys.error { _ = try adopt(nil, syncedThrough) } == .invalidArgument)
    #expect(folder.contents == before)
  }

  @Test func missingTablesAndRowsAreNoObstacle() throws {
    try PublicSensor.run(path, "PRAGMA journal_mode = WAL; CREATE TABLE t (x); DROP TABLE t")
    let report = try #require(try adopt(nil, ["ios_notification": 0]))
    #expect(report.counts.values.reduce(0, +) == 0 && UUID(uuidString: report.deviceId) != nil)
    #expect(try value("SELECT sum(sentThroughId) FROM upload_ledger") == 0)
    #expect(try NotificationStore(.init(path: path, key: Keys.raw)).deviceId == report.deviceId)
  }

  /// Whatever SQLite holds in a column stays what it is: numbers in text columns, bytes that are no UTF-8, NULs.
  @Test func oddValuesComeOverAsTheyAre() throws {
    try PublicSensor.make(
      path, isKilled: false,
      """
      UPDATE ios_notification SET badge = 'not a number', interruptionLevel = 1.5, timezone = x'00ff',
        title = x'c3280041', body = 'a' || char(0) || 'b', label = CAST(x'ff41' AS TEXT) WHERE id = 1;
      UPDATE ios_notification SET badge = 9223372036854775807, timestamp = -9223372036854775808 WHERE id = 2;
      CREATE VIEW theirs AS SELECT title FROM ios_notification;
      CREATE TRIGGER gone AFTER DELETE ON ios_notification BEGIN SELECT 1; END;
      CREATE INDEX some ON ios_notification (title);
      PRAGMA user_version = 1; ANALYZE;
      """)
    #expect(try adopt()?.counts["ios_notification"] == 4)
    let odd = """
      SELECT typeof(badge) || typeof(interruptionLevel) || hex(timezone) || typeof(title) || hex(title)
        || hex(body) || typeof(label) || hex(label) FROM ios_notification WHERE id = 1
      """
    let store = try NotificationStore(.init(path: path, key: Keys.raw))
    #expect(
      try store.database.read { try $0.text(odd) } == "textreal00FFblobC3280041" + "610062" + "text" + "FF41")
    #expect(try value("SELECT badge = 9223372036854775807 FROM ios_notification WHERE id = 2") == 1)
    #expect(try value("SELECT count(*) FROM sqlite_master WHERE name IN ('theirs', 'gone', 'some')") == 0)
  }

  @Test func aSymbolicLinkStaysOneAndItsFileIsReplaced() throws {
    let elsewhere = TemporaryFolder()
    try PublicSensor.make(elsewhere.path("real.db"), isKilled: true)
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: elsewhere.path("real.db"))
    #expect(try adopt()?.path.hasSuffix("/real.db") == true)
    #expect(elsewhere.names == ["real.db"] && PublicSensor.plaintext(in: elsewhere.contents) == [])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == elsewhere.path("real.db"))
    try expectAdopted()
  }

  // MARK: Nothing to adopt

  @Test func whatIsNotPlaintextIsLeftAlone() throws {
    _ = try NotificationStore.create(folder.path("encrypted"), key: Keys.raw)
    let readable = RawSQLite(folder.path("readable"), key: try Keys.salted, settings: "")
    if GenerationCheck.is4 {
      readable.execute("PRAGMA cipher_plaintext_header_size = 32; CREATE TABLE t (x)")
      #expect(FileManager.default.contents(atPath: folder.path("readable"))?.starts(with: Data("SQLite".utf8)) == true)
    } else {
      readable.execute("CREATE TABLE t (x)")
    }
    _ = folder.write("junk", String(repeating: "junk", count: 5000))
    _ = folder.write("empty", "")
    _ = folder.write("magic", "SQLite format 3\0")
    let before = folder.contents
    for name in folder.names + ["absent", "absent/too", "."] {
      #expect(!PlaintextStore.isPlaintext(at: folder.path(name)), "\(name)")
      #expect(!PlaintextStore.needsAdoption(at: folder.path(name)), "\(name)")
      #expect(try PlaintextStore.adopt(at: folder.path(name), key: Keys.raw) == nil, "\(name)")
    }
    #expect(folder.contents == before)
  }

  /// Looking at an encrypted store that this process has open must not end the locks that it has on the file.
  @Test func lookingDoesNotEndLocks() throws {
    _ = try NotificationStore.create(path, key: Keys.raw)
    let connection = try Connection.open(path, key: Keys.raw)
    try connection.execute("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE")
    #expect(!PlaintextStore.needsAdoption(at: path))
    // Another process still finds the bytes locked that SQLite locks against readers.
    let script =
      "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)"
    let other = try Program.run("/usr/bin/python3", ["-c", script, path])
    #expect(other.status == 1 && other.errors.contains("BlockingIOError"))
  }
}

enum GenerationCheck {
  static let is4 = ((try? Connection.libraryVersion()) ?? "").hasPrefix("3.") == false
}
