import EncryptedSQLite
import Foundation

/// Brings a store's schema and rows to the current jsonVersion, one transaction a step.
///
/// `PRAGMA user_version` is the store's version; the table `schema_migration` records each step with its checksum.
public struct SchemaMigrator: Sendable {
  public let migrations: [Migration]

  /// - Parameter migrations: the steps from version 1 on, without a gap.
  public init(_ migrations: [Migration] = Migration.all) {
    precondition(
      migrations.map(\.version) == Array(1..<(migrations.count + 1)), "migration steps are numbered 1, 2, 3 and so on")
    self.migrations = migrations
  }

  /// The version that the last step leads to.
  public var currentVersion: Int { migrations.count }

  /// The store's version. A file that holds the public sensor's tables and no version is version 1.
  public func version(of connection: Connection) throws -> Int {
    let version = Int(try connection.integer("PRAGMA user_version") ?? 0)
    guard version == 0 else { return version }
    let tables =
      "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('ios_notification', "
      + "'ios_notification_token', 'ios_silent_push')"
    return try connection.integer(tables) == 0 ? 0 : 1
  }

  /// The steps that the store lacks, in order.
  ///
  /// - Throws: `schemaTooNew`, `migrationChanged`.
  public func pending(on connection: Connection) throws -> [Migration] {
    // Version and record of the steps on one view: another process may apply a step between two statements.
    guard connection.isInTransaction else { return try connection.readTransaction { try pending(on: connection) } }
    let version = try version(of: connection)
    try check(connection, version)
    return Array(migrations[version...])
  }

  /// Applies the steps that the store lacks.
  ///
  /// Whether a step is applied is decided inside its own transaction, so that processes that open one store at once
  /// apply each step once. A step that fails leaves version and rows as they were.
  ///
  /// - Returns: the steps applied by this call.
  /// - Throws: `schemaTooNew`, `migrationChanged`, `migrationFailed`, `busy`, `diskFull`.
  @discardableResult
  public func migrate(_ connection: Connection) throws -> [Migration] {
    guard try !pending(on: connection).isEmpty else { return [] }
    try Self.registerFunction(on: connection)
    var applied: [Migration] = []
    while let step = try applyNext(connection) { applied.append(step) }
    return applied
  }

  private func applyNext(_ connection: Connection) throws -> Migration? {
    try connection.writeTransaction {
      guard let step = try pending(on: connection).first else { return nil }
      do {
        try connection.execute(step.sql)
      } catch let error as DatabaseError where error.code != .busy && error.code != .diskFull {
        throw DatabaseError(
          .migrationFailed,
          "the step to jsonVersion \(step.version) (\(step.name)) failed and was undone: \(error.message)",
          sqliteCode: error.sqliteCode)
      }
      try record(step, on: connection)
      return step
    }
  }

  private func record(_ step: Migration, on connection: Connection) throws {
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS schema_migration (
        jsonVersion INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, appliedAt INTEGER NOT NULL)
      """)
    // A file that the public sensor's layout came with has had step 1 without a record of it.
    for step in migrations[..<step.version] {
      try connection.run(
        "INSERT OR IGNORE INTO schema_migration (jsonVersion, name, sha256, appliedAt) VALUES (?, ?, ?, ?)",
        .integer(Int64(step.version)), .text(step.name), .text(step.sha256), .integer(UnixTime.milliseconds()))
    }
    try connection.execute("PRAGMA user_version = \(step.version)")
  }

  private func check(_ connection: Connection, _ version: Int) throws {
    guard version >= 0 else {
      throw DatabaseError(
        .invalidArgument, "\(connection.path) has the version \(version) and is not a store of AWARE's")
    }
    guard version <= currentVersion else {
      throw DatabaseError(
        .schemaTooNew,
        "\(connection.path) has jsonVersion \(version) and this program knows up to \(currentVersion): use a newer one")
    }
    try requireTables(connection)
    guard try connection.integer("SELECT count(*) FROM sqlite_master WHERE name = 'schema_migration'") == 1 else {
      return
    }
    try connection.forEachRow("SELECT jsonVersion, sha256 FROM schema_migration ORDER BY jsonVersion") { row in
      let applied = row.int(at: 0)
      guard applied >= 1, applied <= version, migrations[applied - 1].sha256 == row.string(at: 1) else {
        throw DatabaseError(
          .migrationChanged,
          "\(connection.path) is a store of an earlier development build, which this program does not support (its step to "
            + "jsonVersion \(applied) has another SHA-256): sync or export its records with the program that wrote it, or "
            + "read them into a new store with restore --salvage")
      }
    }
  }

  /// A view or a virtual table of one of our names gives rows of somebody else's making, and may never come to an end.
  private func requireTables(_ connection: Connection) throws {
    let names = (NotificationStore.tables + NotificationStore.ownTables).map { "'\($0)'" }.joined(separator: ", ")
    let query =
      "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND lower(name) IN (\(names)) "
      + "AND NOT (type = 'table' AND rootpage > 0) LIMIT 1"
    guard let name = try connection.text(query) else { return }
    throw DatabaseError(
      .schemaChanged,
      "\(name) in \(connection.path) is not a table but a view or a virtual table, which no store has: it was changed by "
        + "another program; run verify, and restore a backup")
  }

  /// The function that the steps' SQL may call (Migrations/README.md).
  static func registerFunction(on connection: Connection) throws {
    try connection.register("derived_uuid") { .text(RecordID.derived(from: $0)) }
  }
}
