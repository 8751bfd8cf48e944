import EncryptedSQLite
import Foundation

/// A check of a whole store: cipher, pages, and schema.
public struct StoreVerification: Sendable {
  public struct Check: Sendable {
    public let name: String
    /// What was looked at, for a person.
    public let detail: String
    /// What is wrong; empty when nothing is.
    public let faults: [String]
  }

  public let checks: [Check]
  public var isSound: Bool { checks.allSatisfy(\.faults.isEmpty) }

  /// Checks the store at `path` and changes nothing.
  ///
  /// - Throws: when the store cannot be opened at all; what is found in it later is a fault.
  public init(path: String, key: EncryptionKey, migrator: SchemaMigrator = SchemaMigrator()) throws {
    let connection = try Connection.open(path, key: key, options: .init(access: .readOnly))
    checks = [
      Self.cipher(connection), Self.pages(connection), Self.integrity(connection),
      Self.migrations(connection, migrator),
      Self.schema(connection, migrator),
    ]
    try connection.close()
  }

  private static func cipher(_ connection: Connection) -> Check {
    let cipher = connection.cipher
    return Check(
      name: "cipher", detail: "SQLCipher \(cipher.libraryVersion), file format \(cipher.generation)", faults: [])
  }

  private static func pages(_ connection: Connection) -> Check {
    check("pages") {
      let count = try connection.pageCount
      guard connection.hasPageMACs else { return ("\(count) pages, not authenticated in this file format", []) }
      guard connection.canCheckPageMACs else { return ("\(count) pages, each authenticated as it is read below", []) }
      return ("\(count) pages, each authenticated by its MAC", try connection.failedPageMACs())
    }
  }

  private static func integrity(_ connection: Connection) -> Check {
    check("integrity") { ("every table and index read", try connection.integrityFaults()) }
  }

  private static func migrations(_ connection: Connection, _ migrator: SchemaMigrator) -> Check {
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

  private static func schema(_ connection: Connection, _ migrator: SchemaMigrator) -> Check {
    check("schema") {
      let version = min(try migrator.version(of: connection), migrator.currentVersion)
      let expected = try objects(of: migrator, at: version)
      let found = try objects(on: connection)
      let faults = expected.keys.sorted().compactMap { name in
        switch found[name] {
        case nil: "\(name) is missing"
        case expected[name]: nil
        default: "\(name) is not as its migration made it"
        }
      }
      return ("\(expected.count) tables and indexes as the migrations made them", faults)
    }
  }

  /// The tables and indexes that the steps make, made in memory.
  private static func objects(of migrator: SchemaMigrator, at version: Int) throws -> [String: String] {
    let reference = try Connection.inMemory()
    try SchemaMigrator(Array(migrator.migrations[..<version])).migrate(reference)
    var made = try objects(on: reference)
    // The public sensor's own version 1 has none.
    if version < 2 { made["schema_migration"] = nil }
    return made
  }

  /// Each table's columns, and each index's SQL. A table is compared by its columns, since the public sensor's own
  /// wording of `CREATE TABLE` may have other spaces.
  private static func objects(on connection: Connection) throws -> [String: String] {
    var objects: [String: String] = [:]
    try connection.forEachRow("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'") { row in
      let name = row.string(at: 1)
      objects[name] = row.string(at: 0) == "table" ? try columns(of: name, connection) : row.string(at: 2)
    }
    return objects
  }

  private static func columns(of table: String, _ connection: Connection) throws -> String {
    var columns: [String] = []
    let name = table.replacingOccurrences(of: "\"", with: "\"\"")
    try connection.forEachRow("PRAGMA table_info(\"\(name)\")") { row in
      columns.append((1...5).map { row.string(at: $0) }.joined(separator: " "))
    }
    return columns.joined(separator: ", ")
  }

  private static func check(_ name: String, _ body: () throws -> (String, [String])) -> Check {
    do {
      let (detail, faults) = try body()
      return Check(name: name, detail: detail, faults: faults)
    } catch let error as DatabaseError {
      return Check(name: name, detail: "", faults: [error.message])
    } catch {
      return Check(name: name, detail: "", faults: ["\(error)"])
    }
  }
}
