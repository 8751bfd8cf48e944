import EncryptedSQLite

/// The rows of one table as values of `Record`.
///
/// Safe to use from any thread. Inserting many is one transaction; reading goes page by page, so that memory stays flat
/// whatever the table's size.
public struct Repository<Record: StoredRecord>: Sendable {
  private let database: Database
  private let deviceId: String
  private let sql = TableSQL(Record.self)

  /// - Parameter deviceId: what a record with an empty device id is stored under.
  public init(_ database: Database, deviceId: String) {
    self.database = database
    self.deviceId = deviceId
  }

  // MARK: Inserting

  /// Stores `record` as a new row; its own `id` is not looked at.
  ///
  /// - Returns: the record with the id of its row.
  /// - Throws: `constraint` when a unique value is taken; `busy`, `diskFull`, `keyChanged` and the like.
  @discardableResult
  public func insert(_ record: Record) throws -> Record {
    var record = record
    record.id = try database.write { try Self.insert([record], sql, deviceId, $0)[0] }
    return record
  }

  /// Stores `records` in their order: all, or none.
  ///
  /// - Returns: the ids of their rows.
  @discardableResult
  public func insert(_ records: [Record]) throws -> [Int64] {
    try database.write { try Self.insert(records, sql, deviceId, $0) }
  }

  /// As the synchronous form, without blocking a thread.
  @discardableResult
  public func insert(_ records: [Record]) async throws -> [Int64] {
    try await database.write { [sql, deviceId] in try Self.insert(records, sql, deviceId, $0) }
  }

  static func insert(
    _ records: [Record], _ sql: TableSQL, _ deviceId: String, _ connection: Connection
  ) throws -> [Int64] {
    try connection.withStatement(sql.insert) { statement in
      var ids: [Int64] = []
      ids.reserveCapacity(records.count)
      for record in records {
        var row = RowBinder(statement, deviceId: deviceId)
        record.bind(to: &row)
        try statement.run()
        ids.append(connection.lastInsertedRowID)
      }
      return ids
    }
  }

  // MARK: Reading

  /// At most `limit` records with an id above `id`, in the order of their ids.
  public func page(after id: Int64 = 0, limit: Int) throws -> [Record] {
    try database.read { try Self.page(after: id, limit, sql, $0) }
  }

  /// As the synchronous form, without blocking a thread.
  public func page(after id: Int64 = 0, limit: Int) async throws -> [Record] {
    try await database.read { [sql] in try Self.page(after: id, limit, sql, $0) }
  }

  private static func page(after id: Int64, _ limit: Int, _ sql: TableSQL, _ connection: Connection) throws -> [Record]
  {
    try connection.withStatement(sql.page) { statement in
      statement.bind(id, at: 1)
      statement.bind(Int64(limit), at: 2)
      var records: [Record] = []
      while try statement.step() {
        var row = RowReader(statement)
        records.append(Record(row: &row))
      }
      return records
    }
  }

  /// Goes through the records with an id above `id` in the order of their ids.
  ///
  /// Each page is read by itself: no transaction stays open between two records.
  public func cursor(after id: Int64 = 0, pageSize: Int = 500) -> RecordCursor<Record> {
    RecordCursor(self, after: id, pageSize: pageSize)
  }

  public func count() throws -> Int {
    Int(try database.read { try $0.integer(sql.count) } ?? 0)
  }

  // MARK: Deleting

  /// Deletes the rows with these ids: all, or none. An id without a row is passed over.
  ///
  /// - Returns: how many rows were deleted.
  @discardableResult
  public func delete(ids: some Sequence<Int64>) throws -> Int {
    try database.write { connection in
      try connection.withStatement(sql.delete) { statement in
        var deleted = 0
        for id in ids {
          statement.bind(id, at: 1)
          try statement.run()
          deleted += connection.changes
        }
        return deleted
      }
    }
  }
}

/// Goes through a table in the order of the ids.
///
/// ```swift
/// var cursor = store.notifications.cursor()
/// while let record = try cursor.next() { print(record.title) }
/// ```
public struct RecordCursor<Record: StoredRecord> {
  private let repository: Repository<Record>
  private let pageSize: Int
  private var lastID: Int64
  private var page: ArraySlice<Record> = []
  private var isAtEnd = false

  init(_ repository: Repository<Record>, after id: Int64, pageSize: Int) {
    self.repository = repository
    self.pageSize = max(1, pageSize)
    lastID = id
  }

  /// The next record, nil after the last.
  public mutating func next() throws -> Record? {
    if page.isEmpty, !isAtEnd {
      let records = try repository.page(after: lastID, limit: pageSize)
      isAtEnd = records.count < pageSize
      lastID = records.last?.id ?? lastID
      page = records[...]
    }
    return page.popFirst()
  }
}

/// The statements of one table, as text that is made once.
struct TableSQL: Sendable {
  let insert: String
  let page: String
  let count: String
  let delete: String

  init<Record: StoredRecord>(_ record: Record.Type) {
    let table = Record.databaseTableName
    let written = Record.columns + Record.writeOnlyColumns
    let parameters = Array(repeating: "?", count: written.count).joined(separator: ", ")
    insert = "INSERT INTO \(table) (\(written.joined(separator: ", "))) VALUES (\(parameters))"
    page =
      "SELECT id, \(Record.columns.joined(separator: ", ")) FROM \(table) WHERE id > ? ORDER BY id LIMIT ?"
    count = "SELECT count(*) FROM \(table)"
    delete = "DELETE FROM \(table) WHERE id = ?"
  }
}
