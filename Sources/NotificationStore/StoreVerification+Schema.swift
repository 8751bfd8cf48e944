import EncryptedSQLite
import Foundation

/// The schema held against the migrations.
extension StoreVerification {
  static func migrations(_ connection: Connection, _ migrator: SchemaMigrator) -> Check {
    check("migrations") {
      let pending = try migrator.pending(on: connection).count
      let version = try migrator.version(of: connection)
      let faults = try unrecorded(connection, version).map { "the step to jsonVersion \($0) is not recorded" }
      return ("jsonVersion \(version)\(pending > 0 ? ", \(pending) to apply" : ""), checksums as released", faults)
    }
  }

  /// The steps that led to `version` and are not in the record of steps. Version 1 may be the public sensor's own, which
  /// keeps no record; the first step that is applied to it brings one of both.
  private static func unrecorded(_ connection: Connection, _ version: Int) throws -> [Int] {
    let tables = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_migration'"
    guard version > 1, try connection.integer(tables) == 1 else { return [] }
    return try (1...version).filter {
      try connection.integer("SELECT count(*) FROM schema_migration WHERE jsonVersion = ?", .integer(Int64($0))) == 0
    }
  }

  /// - Parameter expected: gives ``expectedObjects(_:_:)``.
  static func schema(_ connection: Connection, _ expected: () throws -> [String: String]) -> Check {
    check("schema") {
      let expected = try expected()
      let faults = try expected.keys.sorted().compactMap { name in
        switch try object(name, on: connection) {
        case nil: "\(name) is missing"
        case expected[name]: nil
        default: "\(name) is not as its migration made it"
        }
      }
      return ("\(expected.count) tables and indexes as the migrations made them", faults)
    }
  }

  /// What stands in the file beside the store's own tables and indexes.
  static func foreign(_ connection: Connection, _ expected: () throws -> [String: String]) -> Check {
    check("foreign objects") {
      let expected = try expected()
      var faults: [String] = []
      // SQLite's own tables (counters, statistics), and the indexes that it makes for UNIQUE.
      let query = """
        SELECT type, substr(name, 1, 100), name FROM sqlite_master
        WHERE NOT (type = 'table' AND name IN ('sqlite_sequence', 'sqlite_stat1', 'sqlite_stat3', 'sqlite_stat4'))
          AND NOT (type = 'index' AND name LIKE 'sqlite\\_autoindex\\_%' ESCAPE '\\')
        """
      try connection.withStatement(query) { row in
        while faults.count <= faultLimit, try row.step() {
          guard expected[row.string(at: 2)] == nil else { continue }
          faults.append("the \(row.string(at: 0)) \(row.string(at: 1)) is not of this store")
        }
      }
      return ("none", faults)
    }
  }

  /// The tables and indexes that the steps make, made in memory.
  static func expectedObjects(_ connection: Connection, _ migrator: SchemaMigrator) throws -> [String: String] {
    let version = max(0, min(try migrator.version(of: connection), migrator.currentVersion))
    let reference = try Connection.inMemory()
    try SchemaMigrator(Array(migrator.migrations[..<version])).migrate(reference)
    var names: [String] = []
    try reference.forEachRow("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'") {
      names.append($0.string(at: 0))
    }
    // The public sensor's own version 1 has none.
    if version < 2 { names.removeAll { $0 == "schema_migration" } }
    return try Dictionary(uniqueKeysWithValues: names.map { ($0, try object($0, on: reference) ?? "") })
  }

  /// A table's columns, or an index's SQL; nil when there is none of that name. A table is compared by its columns, since
  /// the public sensor's own wording of `CREATE TABLE` may have other spaces.
  private static func object(_ name: String, on connection: Connection) throws -> String? {
    let query = "SELECT type, sql FROM sqlite_master WHERE name = ? ORDER BY type = 'trigger'"
    guard let (type, sql) = try connection.firstRow(query, .text(name), read: { ($0.string(at: 0), $0.string(at: 1)) })
    else { return nil }
    guard type == "table" else { return "\(type) \(sql)" }
    var columns: [String] = []
    try connection.forEachRow("PRAGMA table_info(\(name))") { row in
      columns.append((1...5).map { row.string(at: $0) }.joined(separator: " "))
    }
    return columns.joined(separator: ", ")
  }
}
