import EncryptedSQLite
import TestSupport
import Testing

@Suite struct StatementTests {
  let folder = TemporaryFolder()
  let connection: Connection

  init() throws {
    try SmallStore.make(folder.path("store"), Keys.raw, [])
    connection = try Connection.open(folder.path("store"), key: Keys.raw)
    try connection.execute("CREATE TABLE value (id INTEGER PRIMARY KEY, v)")
  }

  /// What comes back after a value was stored.
  func stored<Result>(_ value: SQLValue, _ read: (Statement) throws -> Result) throws -> Result {
    try connection.run("DELETE FROM value")
    try connection.run("INSERT INTO value (v) VALUES (?)", value)
    return try #require(try connection.firstRow("SELECT v FROM value", read: read))
  }

  @Test(arguments: [0, 1, -1, Int64.max, Int64.min, (1 << 53) + 1] as [Int64])
  func integers(_ value: Int64) throws {
    try stored(.integer(value)) {
      #expect($0.kind(at: 0) == .integer && !$0.isNull(at: 0))
      #expect($0.int64(at: 0) == value && $0.int(at: 0) == Int(value))
    }
  }

  @Test(arguments: [0, -0.5, 0.1, Double.greatestFiniteMagnitude, Double.leastNonzeroMagnitude, .infinity] as [Double])
  func reals(_ value: Double) throws {
    try stored(.real(value)) {
      #expect($0.kind(at: 0) == .real)
      #expect($0.double(at: 0) == value)
    }
  }

  /// SQLite has no NaN.
  @Test func notANumberIsNull() throws {
    #expect(try stored(.real(.nan)) { $0.kind(at: 0) } == .null)
  }

  static let textSamples = [
    "a", "a\0b", "\0", "it's \"quoted\"", "e\u{301}", "\u{e9}", "🇩🇪👩‍👩‍👧", " ", "'; DROP TABLE value; --", "%s%n",
    String(repeating: "0123456789", count: 100_000),
  ]

  /// By their number: an argument is a part of the test's name.
  @Test(arguments: textSamples.indices) func texts(_ index: Int) throws {
    let text = Self.textSamples[index]
    try stored(.text(text)) { row in
      #expect(row.kind(at: 0) == .text)
      #expect(Array(row.string(at: 0).utf8) == Array(text.utf8))
      row.withText(at: 0) { #expect($0.elementsEqual(text.utf8)) }
    }
    #expect(try connection.integer("SELECT length(CAST(v AS BLOB)) FROM value") == Int64(text.utf8.count))
  }

  @Test func emptyIsNotNull() throws {
    #expect(try stored("") { $0.kind(at: 0) } == .text)
    #expect(try stored(.blob([])) { $0.kind(at: 0) } == .blob)
    try stored(nil) {
      #expect($0.kind(at: 0) == .null && $0.isNull(at: 0))
      #expect($0.string(at: 0) == "" && $0.int64(at: 0) == 0)
      $0.withBlob(at: 0) { #expect($0.isEmpty) }
    }
  }

  static let blobSamples: [[UInt8]] = [[0], [0, 0xff, 0xc3], [UInt8](repeating: 7, count: 100_000)]

  @Test(arguments: blobSamples.indices) func blobs(_ index: Int) throws {
    let bytes = Self.blobSamples[index]
    try stored(.blob(bytes)) { row in
      #expect(row.kind(at: 0) == .blob)
      row.withBlob(at: 0) { #expect($0.elementsEqual(bytes)) }
    }
  }

  @Test func textThatIsNotUTF8() throws {
    let text = try connection.text("SELECT CAST(x'61ff62' AS TEXT)")
    #expect(text == "a\u{fffd}b")
  }

  @Test("Rows of any size after one another: each is stored as it was bound")
  func growingRows() throws {
    var generator = SeededGenerator(seed: 1)
    // Around the arena's first size, its doublings, and what it does not hold on to.
    let sizes =
      [0, 1, 2047, 2048, 2049, 5000, 65_536, 65_537, 200_000, 3]
      + (0..<300).map { _ in Int.random(in: 0..<3000, using: &generator) }
    try connection.execute("CREATE TABLE wide (id INTEGER PRIMARY KEY, a TEXT, b TEXT, c BLOB, d TEXT)")
    func column(_ row: Int, _ column: Int) -> String {
      let letter = String(UnicodeScalar(UInt8(97 + (row + column) % 26)))
      return String(repeating: letter, count: sizes[(row * 3 + column) % sizes.count])
    }
    try connection.writeTransaction {
      try connection.withStatement("INSERT INTO wide (a, b, c, d) VALUES (?, ?, ?, ?)") { statement in
        for row in sizes.indices {
          statement.bind(column(row, 0), at: 1)
          statement.bind(column(row, 1), at: 2)
          Array(column(row, 2).utf8).withUnsafeBytes { statement.bind(blob: $0, at: 3) }
          statement.bind(column(row, 3), at: 4)
          try statement.run()
        }
      }
    }
    var row = 0
    try connection.forEachRow("SELECT a, b, c, d FROM wide ORDER BY id") { statement in
      let isSame = [0, 1, 3].allSatisfy { statement.string(at: Int32($0)) == column(row, $0) }
      #expect(isSame && statement.withBlob(at: 2) { $0.elementsEqual(column(row, 2).utf8) }, "row \(row)")
      row += 1
    }
    #expect(row == sizes.count)
  }

  @Test("Values bound stay bound while the rows are read")
  func boundWhileStepping() throws {
    try connection.execute("INSERT INTO value (v) VALUES ('a'), ('b'), ('a')")
    var ids: [Int] = []
    try connection.forEachRow(
      "SELECT id FROM value WHERE v = ? AND ? <> ''", "a", .text(String(repeating: "x", count: 10_000))
    ) {
      ids.append($0.int(at: 0))
    }
    #expect(ids == [1, 3])
  }

  @Test("A parameter that is not there is a mistake that does not pass in silence", arguments: [0, 2, -1])
  func badParameter(index: Int32) throws {
    let error = Keys.error {
      try connection.withStatement("INSERT INTO value (v) VALUES (?)") { statement in
        statement.bind(Int64(7), at: index)
        try statement.run()
      }
    }
    #expect(error == .database)
    #expect(try connection.integer("SELECT count(*) FROM value") == 0)
    try connection.run("INSERT INTO value (v) VALUES (?)", 7)
    #expect(try connection.integer("SELECT v FROM value") == 7)
  }

  @Test func columns() throws {
    try connection.withStatement("SELECT 1 AS one, 2 AS \"zwei ü\"") {
      #expect($0.columnCount == 2)
      #expect($0.columnName(at: 0) == "one" && $0.columnName(at: 1) == "zwei ü")
    }
  }
}
