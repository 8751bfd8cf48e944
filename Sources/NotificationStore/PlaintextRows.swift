import EncryptedSQLite

/// The rows of a plaintext store, and where they go.
struct PlaintextRows {
  let connection: Connection
  let layout: PlaintextLayout

  init(_ connection: Connection) throws {
    self.connection = connection
    layout = try PlaintextLayout(of: connection)
  }

  /// Fills `store`, a new file, with the rows and their counters, and brings it to the current version.
  func copy(to store: Connection) throws {
    try SchemaMigrator([Migration.all[0]]).migrate(store)
    try store.writeTransaction {
      for table in layout.tables {
        let columns = layout.columns[table] ?? []
        let parameters = Array(repeating: "?", count: columns.count).joined(separator: ", ")
        let names = columns.joined(separator: ", ")
        try store.withStatement("INSERT INTO \(table) (\(names)) VALUES (\(parameters))") { insert in
          try connection.forEachRow("SELECT \(names) FROM \(table)") { row in
            insert.bind(columns: columns.count, of: row)
            try insert.run()
          }
        }
        // An id that was given out once is not given out again, though its row is gone.
        try store.run("DELETE FROM sqlite_sequence WHERE name = ?", .text(table))
        try store.run(
          "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", .text(table), .integer(lastId(of: table)))
      }
    }
    try SchemaMigrator().migrate(store)
  }

  /// The highest id that the table has given out; 0 where there is no such table.
  func lastId(of table: String) throws -> Int64 {
    guard layout.tables.contains(table) else { return 0 }
    let last = try connection.integer("SELECT max(id) FROM \(table)") ?? 0
    guard layout.hasCounters else { return max(0, last) }
    let counter = "SELECT max(CAST(seq AS INTEGER)) FROM sqlite_sequence WHERE lower(name) = ?"
    return max(0, last, try connection.integer(counter, .text(table)) ?? 0)
  }

  /// The device id of the newest record that has one.
  func deviceId() throws -> String? {
    var newest: (time: Int64, deviceId: String)?
    for table in layout.tables {
      let query = """
        SELECT timestamp, deviceId FROM \(table) WHERE typeof(deviceId) = 'text' AND deviceId <> ''
          AND typeof(timestamp) = 'integer' ORDER BY timestamp DESC, id DESC LIMIT 1
        """
      try connection.forEachRow(query) { row in
        let time = row.int64(at: 0)
        if newest.map({ time > $0.time }) ?? true { newest = (time, row.string(at: 1)) }
      }
    }
    return newest?.deviceId
  }

  /// Compares every row with `store`, in which only their jsonVersion is another.
  ///
  /// - Throws: `adoptionIncomplete` at the first difference.
  func verify(against store: Connection) throws {
    for table in NotificationStore.tables {
      let columns = (layout.columns[table] ?? []).filter { $0 != "jsonVersion" }
      let query = "SELECT \(columns.joined(separator: ", ")) FROM \(table) ORDER BY id"
      try store.withStatement(query) { copy in
        if layout.tables.contains(table) {
          try connection.forEachRow(query) { row in
            guard try copy.step(), (0..<Int32(columns.count)).allSatisfy({ row.hasSameValue(at: $0, as: copy) }) else {
              throw Self.incomplete("row \(row.int64(at: 0)) of \(table) did not come out as it went in")
            }
          }
        }
        guard try !copy.step() else { throw Self.incomplete("\(table) came out with more rows than went in") }
      }
    }
  }

  private static func incomplete(_ what: String) -> DatabaseError {
    DatabaseError(.adoptionIncomplete, "\(what): the plaintext store is left as it was; run verify on a copy of it")
  }

  /// How many rows are not in `store`, by the recordId that follows from a row.
  func countMissing(in store: Connection) throws -> Int {
    try SchemaMigrator.registerFunction(on: connection)
    var missing = 0
    for table in layout.tables {
      let values = ["deviceId", "id", "timestamp"] + layout.contentColumns(of: table)
      let query = "SELECT derived_uuid('\(table)', \(values.joined(separator: ", "))) FROM \(table)"
      try connection.forEachRow(query) { row in
        let found = "SELECT count(*) FROM \(table) WHERE recordId = ?"
        if try store.integer(found, .text(row.string(at: 0))) != 1 { missing += 1 }
      }
    }
    return missing
  }
}
