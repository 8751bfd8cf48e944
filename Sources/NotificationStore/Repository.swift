import EncryptedSQLite

/// The rows of one table as values of `Record`.
///
/// Safe to use from any thread. Inserting many is one transaction; reading goes page by page, so that memory stays flat
/// whatever the table's size.
///
/// What goes through many rows is `@inlinable`, and so is compiled for the type of record where an app calls it. As
/// generic code it would ask at each row how to copy and to destroy a record.
public struct Repository<Record: StoredRecord>: Sendable {
  @usableFromInline let database: Database
  @usableFromInline let deviceId: String
  @usableFromInline let sql = TableSQL(Record.self)

  /// - Parameter deviceId: what a record with an empty device id is stored under.
  public init(_ database: Database, deviceId: String) {
    self.database = database
    self.deviceId = deviceId
  }

  // MARK: Inserting

  /// Stores `record` as a new row; its own `id` is not looked at.
  ///
  /// - Returns: the record as its row holds it, with the row's id, and with device id and identity where they were empty.
  /// - Throws: `constraint` when a unique value is taken; `busy`, `diskFull`, `keyChanged` and the like.
  @inlinable
  @discardableResult
  public func insert(_ record: Record) throws -> Record {
    var record = record.completed(deviceId: deviceId)
    record.id = try database.write { connection in
      try connection.withStatement(sql.insert) { try Self.insert(record, deviceId, $0, connection) }
    }
    return record
  }

  /// Stores `records` in their order: all, or none.
  ///
  /// - Returns: the ids of their rows.
  @inlinable
  @discardableResult
  public func insert(_ records: [Record]) throws -> [Int64] {
    try database.write { try Self.insert(records, sql, deviceId, $0) }
  }

  /// As the synchronous form, without blocking a thread.
  @inlinable
  @discardableResult
  public func insert(_ records: [Record]) async throws -> [Int64] {
    try await database.write { [sql, deviceId] in try Self.insert(records, sql, deviceId, $0) }
  }

  @inlinable
  static func insert(
    _ records: [Record], _ sql: TableSQL, _ deviceId: String, _ connection: Connection
  ) throws -> [Int64] {
    try connection.withStatement(sql.insert) { statement in
      var ids: [Int64] = []
      ids.reserveCapacity(records.count)
      // By index: each record is read where it is, and not copied.
      for index in records.indices {
        ids.append(try insert(records[index], deviceId, statement, connection))
      }
      return ids
    }
  }

  /// Stores `record` by `statement`, which is that of ``TableSQL/insert``.
  @inlinable
  static func insert(
    _ record: Record, _ deviceId: String, _ statement: Statement, _ connection: Connection
  ) throws -> Int64 {
    var row = RowBinder(statement, deviceId: deviceId)
    record.bind(to: &row)
    try statement.run()
    return connection.lastInsertedRowID
  }

  // MARK: Reading

  /// At most `limit` records (none when it is negative) with an id above `id`, in the order of their ids.
  @inlinable
  public func page(after id: Int64 = 0, limit: Int) throws -> [Record] {
    try database.read { connection in
      var records: [Record] = []
      try Self.read(&records, after: id, limit, sql, connection)
      return records
    }
  }

  /// As the synchronous form, without blocking a thread.
  @inlinable
  public func page(after id: Int64 = 0, limit: Int) async throws -> [Record] {
    try await database.read { [sql] connection in
      var records: [Record] = []
      try Self.read(&records, after: id, limit, sql, connection)
      return records
    }
  }

  /// Replaces what `records` holds by the page, in the memory that it has.
  @inlinable
  static func read(
    _ records: inout [Record], after id: Int64, _ limit: Int, _ sql: TableSQL, _ connection: Connection
  ) throws {
    try connection.withStatement(sql.page) { statement in
      records.removeAll(keepingCapacity: true)
      statement.bind(id, at: 1)
      // SQLite takes a negative limit for none.
      statement.bind(Int64(max(0, limit)), at: 2)
      var last = id
      while try statement.step() {
        last = try statement.ascendingID(after: last)
        var row = RowReader(statement)
        records.append(Record(row: &row))
      }
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
  @usableFromInline let repository: Repository<Record>
  @usableFromInline let pageSize: Int
  @usableFromInline var lastID: Int64
  @usableFromInline var page: [Record] = []
  /// Where in `page` the next record is.
  @usableFromInline var position = 0
  @usableFromInline var isAtEnd = false

  init(_ repository: Repository<Record>, after id: Int64, pageSize: Int) {
    self.repository = repository
    self.pageSize = max(1, pageSize)
    lastID = id
  }

  /// The next record, nil after the last.
  @inlinable
  public mutating func next() throws -> Record? {
    if position == page.count, !isAtEnd {
      // The page's memory is used again. Where reading fails, no half of a page stays behind.
      var records = page
      page = []
      position = 0
      try repository.database.read {
        try Repository.read(&records, after: lastID, pageSize, repository.sql, $0)
      }
      page = records
      isAtEnd = page.count < pageSize
      lastID = page.last?.id ?? lastID
    }
    guard position < page.count else { return nil }
    defer { position += 1 }
    return page[position]
  }
}

/// The statements of one table, as text that is made once.
@usableFromInline
struct TableSQL: Sendable {
  @usableFromInline let insert: String
  @usableFromInline let page: String
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
