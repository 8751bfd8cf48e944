import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@Suite struct SchemaMigratorTests {
  private let folder = TemporaryFolder()
  private var key: EncryptionKey { get throws { try EncryptionKey(Fixture.goldenKey) } }

  @Test func embeddedStepsAreTheFilesInMigrations() throws {
    for step in Migration.all {
      let path = Program.root + "/Migrations/v\(step.version)__\(step.name).sql"
      #expect(try String(contentsOfFile: path, encoding: .utf8) == step.sql)
      let sum = try Program.run("/usr/bin/sha256sum", [path]).output
      #expect(sum.hasPrefix(step.sha256 + " "))
    }
    #expect(SchemaMigrator().currentVersion == 2)
  }

  /// The layout of version 1 as each generation of SQLCipher encrypted it, brought to version 2 row for row.
  @Test(arguments: Fixture.readableGenerations)
  func goldenFileComesToVersion2RowForRow(generation: Int) throws {
    let path = try Fixture.golden(generation, in: folder)
    #expect(try StoreStatus(path: path, key: key).jsonVersion == 1)
    let store = try NotificationStore(.init(path: path, key: key))
    #expect(try exported(store) == Fixture.text("v2_expected.jsonl"))
    // The id of the deleted row is not given out again.
    #expect(try store.notifications.insert(NotificationData()).id == 13)
    try store.close()
    let status = try StoreStatus(path: path, key: key)
    #expect(status.jsonVersion == 2)
    #expect(status.cipher.generation == generation)
    #expect(try StoreVerification(path: path, key: key).isSound)
  }

  @Test func migratingTwoCopiesGivesTheSameRecordIds() throws {
    let first = try Fixture.golden(Fixture.readableGenerations[0], in: folder)
    let other = TemporaryFolder()
    let second = try Fixture.golden(Fixture.readableGenerations[0], in: other)
    let ids = try [first, second].map { path in
      try NotificationStore(.init(path: path, key: key)).notifications.page(limit: 10).map(\.recordId)
    }
    #expect(ids[0] == ids[1])
    #expect(Set(ids[0]).count == 4)
  }

  @Test func aStepThatFailsOnRow57Of100LeavesVersionAndRowsAsTheyWere() throws {
    let path = try storeWithHundredPushes()
    let before = try dump(path)
    let failing = Migration(
      version: 3, name: "failing",
      sql: """
        CREATE TABLE half_way (id INTEGER);
        UPDATE ios_silent_push SET label = 'third', timezone = CASE id WHEN 57 THEN NULL ELSE timezone END;
        """)
    let code = Keys.error {
      _ = try NotificationStore(
        .init(path: path, key: Keys.raw, migrator: SchemaMigrator(Migration.all + [failing])))
    }
    #expect(code == .migrationFailed)
    #expect(try dump(path) == before)
    #expect(try StoreStatus(path: path, key: Keys.raw).jsonVersion == 2)
  }

  @Test func aStepKilledHalfWayLeavesVersionAndRowsAsTheyWere() throws {
    let path = try storeWithHundredPushes()
    let before = try dump(path)
    let keyFile = folder.write("key", Keys.rawText)
    let helper = try Program.start(Program.helper, ["migrate", path, keyFile])
    #expect(helper.waitForLine("in step"))
    helper.kill()
    _ = helper.finish()
    #expect(try dump(path) == before)
    #expect(try StoreVerification(path: path, key: Keys.raw).isSound)
  }

  @Test func sixProcessesOpeningAtOnceApplyEachStepOnce() throws {
    let keyFile = folder.write("key", Fixture.goldenKey)
    for round in 0..<Campaign.count(3) {
      let temporary = TemporaryFolder()
      let path = try Fixture.golden(Fixture.readableGenerations[0], in: temporary)
      let helpers = try (0..<6).map { _ in try Program.start(Program.helper, ["open", path, keyFile]) }
      for helper in helpers { #expect(helper.finish().output == "ok\n", "round \(round)") }
      let store = try NotificationStore(.init(path: path, key: key))
      #expect(try store.database.read { try $0.integer("SELECT count(*) FROM schema_migration") } == 2)
      #expect(try exported(store) == Fixture.text("v2_expected.jsonl"))
    }
  }

  /// Version and record of the steps are read as one: a step applied meanwhile is not taken for a changed one.
  @Test func whoLooksWhileAnotherMigratesSeesOneOfTheTwoVersions() throws {
    for round in 0..<Campaign.count(60) {
      let path = folder.path("\(round).db")
      _ = try NotificationStore.create(path, key: Keys.raw, migrator: SchemaMigrator([Migration.all[0]]))
      let watching = try Connection.open(path, key: Keys.raw)
      let finished = Gate()
      Thread.detachNewThread {
        let connection = try? Connection.open(path, key: Keys.raw)
        _ = try? connection.map { try SchemaMigrator().migrate($0) }
        finished.open()
      }
      while try !SchemaMigrator().pending(on: watching).isEmpty {}
      finished.pass()
    }
  }

  @Test func stepsBeyondTheCurrentOnesWork() throws {
    let path = try storeWithHundredPushes()
    let third = Migration(
      version: 3, name: "third", sql: "ALTER TABLE ios_silent_push ADD COLUMN topic TEXT NOT NULL DEFAULT '';")
    let fourth = Migration(
      version: 4, name: "fourth", sql: "UPDATE ios_silent_push SET topic = 'row ' || id, jsonVersion = 4;")
    let migrator = SchemaMigrator(Migration.all + [third, fourth])
    let connection = try Connection.open(path, key: Keys.raw)
    #expect(try migrator.pending(on: connection).map(\.version) == [3, 4])
    #expect(try migrator.migrate(connection).map(\.name) == ["third", "fourth"])
    #expect(try migrator.migrate(connection).isEmpty)
    #expect(try connection.text("SELECT topic FROM ios_silent_push WHERE id = 100") == "row 100")
    #expect(try connection.integer("PRAGMA user_version") == 4)
    #expect(try connection.integer("SELECT count(*) FROM schema_migration") == 4)
    try connection.close()
    // A program that knows only two steps leaves it alone.
    let before = folder.contents
    #expect(Keys.error { _ = try NotificationStore(.init(path: path, key: Keys.raw)) } == .schemaTooNew)
    #expect(folder.contents == before)
  }

  @Test func aChangedStepIsRefused() throws {
    let path = try storeWithHundredPushes()
    let changed = Migration(version: 2, name: Migration.all[1].name, sql: Migration.all[1].sql + "-- edited\n")
    let code = Keys.error {
      _ = try NotificationStore(
        .init(path: path, key: Keys.raw, migrator: SchemaMigrator([Migration.all[0], changed])))
    }
    #expect(code == .migrationChanged)
  }

  /// Version 2 is not frozen yet, and there is no way from one text of it to another.
  @Test func aStoreOfAnEarlierDevelopmentBuildIsRefusedForThatReasonAndCanBeSalvaged() throws {
    let path = folder.path("earlier.db")
    let start = try #require(Migration.all[1].sql.range(of: "-- Rows that another program inserts"))
    let end = try #require(Migration.all[1].sql.range(of: "-- What has been sent of each table"))
    var sql = Migration.all[1].sql
    sql.removeSubrange(start.lowerBound..<end.lowerBound)
    sql.replace("ALTER TABLE ios_silent_push ADD COLUMN pushId TEXT NOT NULL DEFAULT '';", with: "")
    let earlier = SchemaMigrator([Migration.all[0], Migration(version: 2, name: "earlier", sql: sql)])
    #expect(try NotificationStore.create(path, key: Keys.raw, migrator: earlier))
    try RawSQLite(path, key: Keys.raw).execute(
      "INSERT INTO ios_silent_push (timestamp, deviceId, timezone, os, jsonVersion, payload, recordId) "
        + "VALUES (1, 'd', 0, 'iOS', 2, '{}', '6988a70f-c647-8066-ab88-4068314a0d9d')")
    var text = ""
    do { _ = try NotificationStore(.init(path: path, key: Keys.raw)) } catch { text = "\(error)" }
    #expect(text.contains("a store of an earlier development build") && text.contains("SHA-256"))
    #expect(text.contains("restore --salvage"))
    let other = folder.path("new.db")
    #expect(try StoreSalvage.salvage(path, into: other, key: Keys.raw).tables.allSatisfy { $0.missing.isEmpty })
    let pushes = try NotificationStore(.init(path: other, key: Keys.raw)).silentPushes.page(limit: 5)
    #expect(pushes.map(\.recordId) == ["6988a70f-c647-8066-ab88-4068314a0d9d"] && pushes[0].pushId == "")
    #expect(try StoreVerification(path: other, key: Keys.raw).isSound)
  }

  /// Not even its journal mode changes, which opening for writing sets to the write-ahead log's.
  @Test(arguments: ["newer", "changed", "negative"]) func whatIsRefusedKeepsItsBytes(kind: String) throws {
    let path = try storeWithHundredPushes()
    let raw = RawSQLite(path, key: try Keys.raw)
    #expect(raw.execute("PRAGMA journal_mode = DELETE") == 0)
    let (change, code): (String, DatabaseError.Code) =
      switch kind {
      case "newer": ("PRAGMA user_version = 3", .schemaTooNew)
      case "changed": ("UPDATE schema_migration SET sha256 = 'another'", .migrationChanged)
      default: ("PRAGMA user_version = -1", .invalidArgument)
      }
    #expect(raw.execute(change) == 0)
    let before = folder.contents
    #expect(before.keys.sorted() == ["store.db"])
    for _ in 1...2 {
      #expect(Keys.error { _ = try NotificationStore(.init(path: path, key: Keys.raw)) } == code)
      let connection = try Connection.open(path, key: Keys.raw)
      #expect(Keys.error { _ = try SchemaMigrator().migrate(connection) } == code)
      try connection.close()
    }
    #expect(Keys.error { _ = try StoreStatus(path: path, key: Keys.raw) } == code)
    #expect(folder.contents == before)
  }

  @Test func aStoreWithARollbackJournalGetsAWriteAheadLogOnceItIsAccepted() throws {
    let path = try storeWithHundredPushes()
    #expect(RawSQLite(path, key: try Keys.raw).execute("PRAGMA journal_mode = DELETE") == 0)
    try NotificationStore(.init(path: path, key: Keys.raw)).close()
    #expect(try StoreStatus(path: path, key: Keys.raw).journalMode == "wal")
  }

  @Test func anOlderStoreOpenedForReadingSaysThatItNeedsMigrating() throws {
    let path = try Fixture.golden(Fixture.readableGenerations[0], in: folder)
    let before = folder.contents
    let code = Keys.error { _ = try NotificationStore(.init(path: path, key: key, access: .readOnly)) }
    #expect(code == .migrationNeeded)
    #expect(folder.contents == before)
  }

  @Test func anEmptyEncryptedDatabaseIsVersion0() throws {
    let path = folder.path("empty.db")
    #expect(try Database.create(path, key: Keys.raw) { try $0.execute("CREATE TABLE other (id)") })
    let store = try NotificationStore(.init(path: path, key: Keys.raw))
    #expect(try store.notifications.count() == 0)
    #expect(try store.database.read { try $0.integer("SELECT count(*) FROM other") } == 0)
  }

  // MARK: Helpers

  private func storeWithHundredPushes() throws -> String {
    let path = folder.path("store.db")
    let store = try NotificationStore(.init(path: path, key: Keys.raw))
    try store.record((1...100).map { PushRecords(payload: ["number": $0]) })
    try store.close()
    return path
  }

  private func exported(_ store: NotificationStore) throws -> String {
    var bytes: [UInt8] = []
    for table in NotificationStore.tables { try store.export(table, format: .jsonLines) { bytes += $0 } }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Version, schema and rows as text.
  private func dump(_ path: String) throws -> String {
    let connection = try Connection.open(path, key: Keys.raw, options: .init(access: .readOnly))
    var text = "\(try connection.integer("PRAGMA user_version") ?? -1)\n"
    try connection.forEachRow("SELECT sql FROM sqlite_master ORDER BY name") { text += $0.string(at: 0) + "\n" }
    try connection.forEachRow("SELECT id, label, payload, jsonVersion FROM ios_silent_push ORDER BY id") { row in
      text += (0..<4).map { row.string(at: $0) }.joined(separator: "|") + "\n"
    }
    return text
  }
}
