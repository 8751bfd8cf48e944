import EncryptedSQLite
import Foundation
import TestSupport
import Testing

@Suite struct ConnectionTests {
  let folder = TemporaryFolder()
  var path: String { folder.path("store") }

  func open(_ texts: [String] = []) throws -> Connection {
    try SmallStore.make(path, Keys.raw, texts)
    return try Connection.open(path, key: Keys.raw)
  }

  // MARK: Statements

  @Test("The same text gives the same prepared statement, and nothing bound before is left in it")
  func statementCache() throws {
    let connection = try open()
    let sql = "INSERT INTO item (text) VALUES (?)"
    var first: ObjectIdentifier?
    try connection.withStatement(sql) { statement in
      first = ObjectIdentifier(statement)
      statement.bind("one", at: 1)
      try statement.run()
    }
    try connection.withStatement(sql) { statement in
      #expect(ObjectIdentifier(statement) == first)
      statement.bindNull(at: 1)
      try statement.run()
    }
    #expect(try connection.integer("SELECT count(*) FROM item WHERE text IS NULL") == 1)
    #expect(connection.lastInsertedRowID == 2 && connection.changes == 1)
  }

  @Test("A statement can be used inside its own rows")
  func reentrancy() throws {
    let connection = try open(["a", "b", "c"])
    let sql = "SELECT text FROM item ORDER BY id"
    var pairs: [String] = []
    try connection.forEachRow(sql) { outer in
      try connection.forEachRow(sql) { inner in pairs.append(outer.string(at: 0) + inner.string(at: 0)) }
    }
    #expect(pairs == ["aa", "ab", "ac", "ba", "bb", "bc", "ca", "cb", "cc"])
    #expect(try SmallStore.texts(connection) == ["a", "b", "c"], "the cached one is ready again")
  }

  @Test("A statement left in the middle of its rows is reset, and can be used again")
  func abandonedRows() throws {
    struct Enough: Error {}
    let connection = try open(["a", "b"])
    for _ in 1...2 {
      #expect(throws: Enough.self) {
        try connection.forEachRow("SELECT text FROM item") { _ in throw Enough() }
      }
    }
    #expect(try connection.text("SELECT text FROM item ORDER BY id") == "a")
    try connection.execute("DROP TABLE item")
    try connection.close()
  }

  @Test("A cached statement survives a change of the schema")
  func schemaChange() throws {
    let connection = try open(["a"])
    #expect(try SmallStore.texts(connection) == ["a"])
    try connection.execute("ALTER TABLE item ADD COLUMN more TEXT; CREATE INDEX by_text ON item (text)")
    #expect(try SmallStore.texts(connection) == ["a"])
  }

  @Test(arguments: ["", " ", "-- nothing"])
  func noStatement(_ sql: String) throws {
    let connection = try open()
    #expect(Keys.error { try connection.run(sql) } == .invalidArgument)
  }

  @Test("A refused row names the rule and not the value")
  func constraint() throws {
    let connection = try open()
    try connection.execute("CREATE TABLE person (name TEXT UNIQUE NOT NULL)")
    try connection.run("INSERT INTO person VALUES ('Ada')")
    #expect {
      try connection.run("INSERT INTO person VALUES (?)", "Ada")
    } throws: {
      let error = $0 as? DatabaseError
      return error?.code == .constraint && error?.sqliteCode == 2067 && !"\($0)".contains("Ada")
    }
    #expect(Keys.error { try connection.run("INSERT INTO person VALUES (?)", nil) } == .constraint)
  }

  @Test func firstRows() throws {
    let connection = try open(["a"])
    #expect(try connection.integer("SELECT 7 WHERE 0") == nil)
    #expect(try connection.integer("SELECT NULL") == nil)
    #expect(try connection.text("SELECT NULL") == nil)
    #expect(try connection.text("SELECT ''") == "")
    #expect(
      try connection.firstRow("SELECT id, text FROM item") { ($0.int(at: 0), $0.string(at: 1)) } ?? (0, "") == (1, "a"))
  }

  // MARK: Functions

  @Test func functions() throws {
    let connection = try open()
    try connection.register("list_of") { values in
      .text(
        values.map {
          switch $0 {
          case .null: "-"
          case .integer(let value): "\(value)"
          case .real(let value): "\(value)"
          case .text(let value): value
          case .blob(let bytes): "\(bytes)"
          }
        }.joined(separator: "|"))
    }
    #expect(
      try connection.text("SELECT list_of(NULL, 1, 2.5, 'a' || char(0) || 'b', x'0102', '', x'')")
        == "-|1|2.5|a\0b|[1, 2]||[]")
    try connection.register("same") { $0.first ?? nil }
    for sql in ["NULL", "7", "2.5", "'text'", "x'00ff'", "''", "x''"] {
      #expect(
        try connection.integer("SELECT same(\(sql)) IS \(sql) AND typeof(same(\(sql))) = typeof(\(sql))") == 1, "\(sql)"
      )
    }
  }

  // MARK: Transactions

  @Test func commit() throws {
    let connection = try open()
    let result = try connection.writeTransaction {
      #expect(connection.isInTransaction)
      try connection.run("INSERT INTO item (text) VALUES ('kept')")
      return 7
    }
    #expect(result == 7 && !connection.isInTransaction)
    #expect(try SmallStore.texts(path, Keys.raw) == ["kept"])
  }

  @Test("What throws leaves nothing behind, and the error is the body's own")
  func rollback() throws {
    struct Refusal: Error {}
    let connection = try open(["before"])
    #expect(throws: Refusal.self) {
      try connection.writeTransaction {
        try connection.run("DELETE FROM item")
        throw Refusal()
      }
    }
    #expect(!connection.isInTransaction)
    #expect(try SmallStore.texts(connection) == ["before"])
    try connection.writeTransaction { try connection.run("INSERT INTO item (text) VALUES ('after')") }
    #expect(try SmallStore.texts(connection) == ["before", "after"])
  }

  @Test("A rule checked at the commit rolls back as well")
  func deferredConstraint() throws {
    let connection = try open()
    try connection.execute(
      """
      PRAGMA foreign_keys = ON;
      CREATE TABLE child (item INTEGER REFERENCES item (id) DEFERRABLE INITIALLY DEFERRED);
      """)
    let error = Keys.error { try connection.writeTransaction { try connection.run("INSERT INTO child VALUES (99)") } }
    #expect(error == .constraint)
    #expect(!connection.isInTransaction)
    #expect(try connection.integer("SELECT count(*) FROM child") == 0)
  }

  @Test("After a full disk, when SQLite has rolled back by itself, the next transaction works")
  func afterFullDisk() throws {
    let connection = try open(["before"])
    let limit = try connection.pageCount + 2
    _ = try connection.integer("PRAGMA max_page_count = \(limit)")
    #expect(Keys.error { try connection.writeTransaction { try connection.execute(SmallStore.noise) } } == .diskFull)
    #expect(!connection.isInTransaction)
    try connection.writeTransaction { try connection.run("INSERT INTO item (text) VALUES ('after')") }
    #expect(try SmallStore.texts(connection) == ["before", "after"])
  }

  @Test("A view does not change under its reader")
  func readTransaction() throws {
    let reader = try open(["one"])
    let writer = try Connection.open(path, key: Keys.raw)
    try reader.readTransaction {
      #expect(try SmallStore.texts(reader) == ["one"])
      try writer.run("INSERT INTO item (text) VALUES ('two')")
      #expect(try SmallStore.texts(reader) == ["one"])
    }
    #expect(try SmallStore.texts(reader) == ["one", "two"])
  }

  @Test("A transaction in a transaction is a mistake in the program")
  func nestedTransaction() async throws {
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let connection = try Connection.inMemory()
      try connection.writeTransaction { try connection.readTransaction {} }
    }
    #expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains("transactions do not nest"))
  }

  // MARK: Closing

  @Test func closing() throws {
    let connection = try open(["one"])
    try connection.run("INSERT INTO item (text) VALUES ('two')")
    #expect(folder.names == ["store", "store-shm", "store-wal"])
    try connection.close()
    try connection.close()
    #expect(folder.names == ["store"])
    #expect(try SmallStore.texts(path, Keys.raw) == ["one", "two"])
  }

  @Test("The log is folded in on closing though another connection stays open")
  func closingBesideAnother() throws {
    let connection = try open()
    let other = try Connection.open(path, key: Keys.raw)
    #expect(try SmallStore.texts(other).isEmpty)
    try connection.run("INSERT INTO item (text) VALUES ('one')")
    #expect(FileSystem.size(path + "-wal") > 0)
    try connection.close()
    #expect(FileSystem.size(path + "-wal") == 0)
    #expect(try SmallStore.texts(other) == ["one"])
  }

  @Test func inMemory() throws {
    let connection = try Connection.inMemory()
    try connection.execute(SmallStore.schema)
    try connection.run("INSERT INTO item (text) VALUES (?)", "kept")
    #expect(try SmallStore.texts(connection) == ["kept"])
  }

  @Test("The settings that keep text out of free pages and temporary files are on")
  func settings() throws {
    let connection = try open()
    #expect(try connection.integer("PRAGMA secure_delete") == 1)
    #expect(try connection.integer("PRAGMA temp_store") == 2)
  }
}
