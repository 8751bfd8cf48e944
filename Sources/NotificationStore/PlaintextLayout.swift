import EncryptedSQLite

/// The tables of a plaintext store, held against those of version 1.
struct PlaintextLayout {
  /// The tables of ours that the file has; those it lacks hold no rows.
  let tables: [String]
  let hasCounters: Bool
  /// The columns of each table in version 1, in their order, `id` first.
  let columns: [String: [String]]

  /// - Throws: `foreignTables`, `unknownLayout` for what could not be taken over without loss.
  init(of connection: Connection) throws {
    let version = try connection.integer("PRAGMA user_version") ?? 0
    guard version == 0 || version == 1 else {
      throw DatabaseError(
        .unknownLayout,
        "\(connection.path) has jsonVersion \(version), and a plaintext store has 0 or 1: it is not one of the public "
          + "sensor's; check the path")
    }
    let reference = try Connection.inMemory()
    try reference.execute(Migration.all[0].sql)
    columns = try Dictionary(
      uniqueKeysWithValues: NotificationStore.tables.map { ($0, try Self.columns(of: $0, reference)) })

    var found: [String] = []
    var foreign: [String] = []
    var hasCounters = false
    // A virtual table has no root page, and keeps its rows somewhere else.
    let query = "SELECT name, rootpage > 0 FROM sqlite_master WHERE type = 'table' ORDER BY name"
    try connection.forEachRow(query) { row in
      let name = row.string(at: 0)
      if let table = NotificationStore.tables.first(where: { $0 == name.lowercased() }), row.int(at: 1) == 1 {
        found.append(table)
      } else if !name.lowercased().hasPrefix("sqlite_") {
        foreign.append(name)
      } else if name == "sqlite_sequence" {
        hasCounters = true
      }
    }
    guard foreign.isEmpty else {
      throw DatabaseError(
        .foreignTables,
        "\(connection.path) also holds \(Self.list(foreign)), which are not of the notification sensor (the AWARE core may "
          + "share one file between sensors): it is left as it is; move those tables to a file of their own first")
    }
    for table in found { try Self.check(table, Self.columns(of: table, connection), columns[table] ?? [], connection) }
    tables = found
    self.hasCounters = hasCounters
  }

  /// The columns that say what was received, in the order in which `Migrations/v2` makes the recordId of them.
  func contentColumns(of table: String) -> [String] {
    (columns[table] ?? []).filter { $0 != "id" && !NotificationData.leadingColumns.contains($0) }
  }

  private static func check(_ table: String, _ found: [String], _ known: [String], _ connection: Connection) throws {
    let found = Set(found.map { $0.lowercased() })
    let unknown = found.subtracting(known.map { $0.lowercased() })
    guard unknown.isEmpty else {
      throw DatabaseError(
        .unknownLayout,
        "\(table) in \(connection.path) has columns that this program does not know, whose values would be lost: "
          + "\(list(unknown.sorted())); it is left as it is")
    }
    let missing = known.filter { !found.contains($0.lowercased()) }
    guard missing.isEmpty else {
      throw DatabaseError(
        .unknownLayout,
        "\(table) in \(connection.path) lacks \(list(missing)) and is not the public sensor's: it is left as it is")
    }
  }

  private static func columns(of table: String, _ connection: Connection) throws -> [String] {
    var names: [String] = []
    try connection.forEachRow("PRAGMA table_info(\(table))") { names.append($0.string(at: 1)) }
    return names
  }

  private static func list(_ names: [String]) -> String {
    names.prefix(10).joined(separator: ", ") + (names.count > 10 ? " and \(names.count - 10) more" : "")
  }
}
