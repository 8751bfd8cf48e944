import EncryptedSQLite
import Foundation

/// What `sqlite_master` lists: a trigger may have the name of a table or an index.
struct SchemaObject: Hashable {
  var type: String
  var name: String
}

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
  static func schema(_ connection: Connection, _ expected: () throws -> [SchemaObject: String]) -> Check {
    check("schema") {
      let expected = try expected()
      let faults = try expected.keys.sorted { $0.name < $1.name }.compactMap { object in
        switch try definition(object, on: connection) {
        case nil: "\(object.name) is missing"
        case expected[object]: nil
        default: "\(object.name) is not as its migration made it"
        }
      }
      return ("\(expected.count) tables, indexes and triggers as the migrations made them", faults)
    }
  }

  /// What is in the file and is not one of the store's own tables, indexes and triggers.
  static func foreign(_ connection: Connection, _ expected: () throws -> [SchemaObject: String]) -> Check {
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
          let object = SchemaObject(type: row.string(at: 0), name: row.string(at: 2))
          guard expected[object] == nil else { continue }
          faults.append("the \(row.string(at: 0)) \(row.string(at: 1)) is not of this store")
        }
      }
      return ("none", faults)
    }
  }

  /// The tables, indexes and triggers that the steps make, made in memory.
  static func expectedObjects(_ connection: Connection, _ migrator: SchemaMigrator) throws -> [SchemaObject: String] {
    let version = max(0, min(try migrator.version(of: connection), migrator.currentVersion))
    let reference = try Connection.inMemory()
    try SchemaMigrator(Array(migrator.migrations[..<version])).migrate(reference)
    var objects: [SchemaObject] = []
    try reference.forEachRow("SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'") {
      objects.append(SchemaObject(type: $0.string(at: 0), name: $0.string(at: 1)))
    }
    // The public sensor's own version 1 has none.
    if version < 2 { objects.removeAll { $0.name == "schema_migration" } }
    return try Dictionary(uniqueKeysWithValues: objects.map { ($0, try definition($0, on: reference) ?? "") })
  }

  /// A table's columns, or the SQL of an index or a trigger; nil when there is no such object. A table is compared by its
  /// columns, since the public sensor's own wording of `CREATE TABLE` may have other spaces.
  private static func definition(_ object: SchemaObject, on connection: Connection) throws -> String? {
    let query = "SELECT sql FROM sqlite_master WHERE type = ? AND name = ?"
    guard let sql = try connection.firstRow(query, .text(object.type), .text(object.name), read: { $0.string(at: 0) })
    else { return nil }
    guard object.type == "table" else { return sql }
    var columns: [String] = []
    try connection.forEachRow("PRAGMA table_info(\(object.name))") { row in
      columns.append((1...5).map { row.string(at: $0) }.joined(separator: " "))
    }
    return columns.joined(separator: ", ")
  }
}
