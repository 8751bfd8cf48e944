import EncryptedSQLite
import Foundation

/// An encrypted file with one table, `item (id, text)`, for tests that need no more.
public enum SmallStore {
  public static let schema = "CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, text TEXT)"
  public static let noise = """
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 400)
    INSERT INTO item (text) SELECT hex(randomblob(100)) FROM n
    """

  /// Makes a file at `path` that holds `texts`, closed.
  public static func make(
    _ path: String, _ key: EncryptionKey, _ texts: [String] = ["one", "two"], hasReadableHeader: Bool = false
  ) throws {
    let isNew = try Database.create(path, key: key, hasReadableHeader: hasReadableHeader) { connection in
      try connection.execute(schema)
      for text in texts { try connection.run("INSERT INTO item (text) VALUES (?)", .text(text)) }
    }
    precondition(isNew, "\(path) was to be new")
  }

  /// Opens it, or makes it empty.
  public static func open(
    _ path: String, _ key: EncryptionKey, busyTimeout: Double = 5, creating: Bool = true
  ) throws -> Database {
    try Database(path: path, key: key, options: .init(busyTimeout: busyTimeout), creating: creating) {
      try $0.execute(schema)
    }
  }

  public static func texts(_ connection: Connection) throws -> [String] {
    var texts: [String] = []
    try connection.forEachRow("SELECT text FROM item ORDER BY id") { texts.append($0.string(at: 0)) }
    return texts
  }

  /// The texts in the file at `path`, through a connection of their own.
  public static func texts(_ path: String, _ key: EncryptionKey) throws -> [String] {
    let connection = try Connection.open(path, key: key)
    defer { try? connection.close() }
    return try texts(connection)
  }
}

/// Damage done to a file on purpose.
public enum Damage {
  /// Changes one bit of the byte at `offset`.
  public static func flipBit(_ path: String, at offset: Int) throws { try flip(path, bit: 0, at: offset) }

  /// - Parameter bit: 0 is the lowest.
  public static func flip(_ path: String, bit: Int, at offset: Int) throws {
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    defer { try? file.close() }
    try file.seek(toOffset: UInt64(offset))
    let byte = try file.read(upToCount: 1)?.first ?? 0
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: [byte ^ 1 << bit])
  }
}
