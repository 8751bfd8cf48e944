import EncryptedSQLite

public enum ExportFormat: String, Sendable, CaseIterable {
  /// One JSON object a line: `table`, `id`, and the record's columns.
  case jsonLines = "jsonl"
  /// RFC 4180: a header, then one record a line.
  case csv
}

extension NotificationStore {
  /// Writes the rows of `table` as text, which is then no longer encrypted.
  ///
  /// - Parameters:
  ///   - id: only rows with a higher id.
  ///   - limit: at most that many rows.
  ///   - neighbours: the tables whose rows go to the same text. Each JSON line then has the columns of all of them, null
  ///     where its own table has none: programs that take the columns from the first lines know all then.
  ///   - write: is called with the text of some rows at a time, so that memory stays flat.
  public func export(
    _ table: String, format: ExportFormat, after id: Int64 = 0, limit: Int = .max, beside neighbours: [String] = [],
    to write: ([UInt8]) throws -> Void
  ) throws {
    let others = neighbours.flatMap(Self.columns)
    switch table {
    case NotificationData.databaseTableName:
      try RowExporter<NotificationData>(database, format, others).export(after: id, limit: limit, to: write)
    case NotificationTokenData.databaseTableName:
      try RowExporter<NotificationTokenData>(database, format, others).export(after: id, limit: limit, to: write)
    case SilentPushData.databaseTableName:
      try RowExporter<SilentPushData>(database, format, others).export(after: id, limit: limit, to: write)
    default: throw DatabaseError(.invalidArgument, "there is no table \(table) of records")
    }
  }

  private static func columns(of table: String) -> [String] {
    switch table {
    case NotificationData.databaseTableName: NotificationData.columns
    case NotificationTokenData.databaseTableName: NotificationTokenData.columns
    case SilentPushData.databaseTableName: SilentPushData.columns
    default: []
    }
  }
}

/// Writes rows as text, page by page, straight from the columns.
private struct RowExporter<Record: StoredRecord> {
  private let database: Database
  private let format: ExportFormat
  private let sql = TableSQL(Record.self)
  /// What each line begins with, what stands before the value of each column, and the columns that it has not.
  private let opening: String
  private let names: [String]
  private let closing: String
  private let pageSize = 500
  /// In bytes of text; a single row may be larger.
  private let largestPage = 1 << 20

  /// - Parameter others: columns that the lines shall have, too.
  init(_ database: Database, _ format: ExportFormat, _ others: [String]) {
    self.database = database
    self.format = format
    opening = #"{"table":"\#(Record.databaseTableName)""#
    names = (["id"] + Record.columns).map { #","\#($0)":"# }
    var missing: [String] = []
    for name in others where !Record.columns.contains(name) && !missing.contains(name) { missing.append(name) }
    closing = missing.map { #","\#($0)":null"# }.joined() + "}\n"
  }

  func export(after id: Int64 = 0, limit: Int = .max, to write: ([UInt8]) throws -> Void) throws {
    if format == .csv { try write(CSVText.line(["id"] + Record.columns)) }
    var last = id
    var rest = limit
    while rest > 0 {
      let wanted = min(pageSize, rest)
      let page = try database.read { try readPage($0, after: last, wanted) }
      if page.count > 0 { try write(page.text) }
      guard page.isFull || page.count == wanted else { return }
      rest -= page.count
      last = page.lastID
    }
  }

  private struct Page {
    var text: [UInt8] = []
    var count = 0
    var lastID: Int64
    /// Whether there may be more rows.
    var isFull = false
  }

  /// Changes nothing outside, for it is done again when the store has to be opened anew.
  private func readPage(_ connection: Connection, after id: Int64, _ limit: Int) throws -> Page {
    try connection.withStatement(sql.page) { row in
      row.bind(id, at: 1)
      row.bind(Int64(limit), at: 2)
      var json = JSONText()
      var csv = CSVText()
      var page = Page(lastID: id)
      while try row.step() {
        page.count += 1
        page.lastID = try row.ascendingID(after: page.lastID)
        switch format {
        case .jsonLines: append(row, to: &json)
        case .csv: append(row, to: &csv)
        }
        page.isFull = max(json.bytes.count, csv.bytes.count) >= largestPage
        if page.isFull { break }
      }
      page.text = format == .csv ? csv.bytes : json.bytes
      return page
    }
  }

  private func append(_ row: Statement, to json: inout JSONText) {
    json.append(raw: opening)
    for (index, name) in zip(Int32(0)..., names) {
      json.append(raw: name)
      switch row.kind(at: index) {
      case .null: json.append(raw: "null")
      case .integer: json.append(row.int64(at: index))
      case .real: json.append(row.double(at: index))
      default: row.withText(at: index) { json.append($0) }
      }
    }
    json.append(raw: closing)
  }

  private func append(_ row: Statement, to csv: inout CSVText) {
    for index in 0..<row.columnCount { csv.append(row.string(at: index)) }
    csv.endLine()
  }
}

/// Comma-separated values by RFC 4180.
struct CSVText {
  private(set) var bytes: [UInt8] = []
  private var isAtStart = true

  static func line(_ fields: [String]) -> [UInt8] {
    var text = CSVText()
    for field in fields { text.append(field) }
    text.endLine()
    return text.bytes
  }

  /// Section 2, rule 6: a field with a quote, a comma or a line break is quoted, and its quotes are doubled.
  mutating func append(_ field: String) {
    if !isAtStart { bytes.append(UInt8(ascii: ",")) }
    isAtStart = false
    guard field.utf8.contains(where: Self.isSpecial) else {
      bytes.append(contentsOf: field.utf8)
      return
    }
    bytes.append(UInt8(ascii: "\""))
    for byte in field.utf8 {
      if byte == UInt8(ascii: "\"") { bytes.append(byte) }
      bytes.append(byte)
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func isSpecial(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\"") || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
  }

  mutating func endLine() {
    bytes.append(contentsOf: [UInt8(ascii: "\r"), UInt8(ascii: "\n")])
    isAtStart = true
  }
}
