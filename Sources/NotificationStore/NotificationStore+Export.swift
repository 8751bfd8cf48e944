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
  ///   - write: is called with the text of some rows at a time, so that memory stays flat.
  public func export(
    _ table: String, format: ExportFormat, after id: Int64 = 0, limit: Int = .max, to write: ([UInt8]) throws -> Void
  ) throws {
    switch table {
    case NotificationData.databaseTableName:
      try RowExporter<NotificationData>(database, format).export(after: id, limit: limit, to: write)
    case NotificationTokenData.databaseTableName:
      try RowExporter<NotificationTokenData>(database, format).export(after: id, limit: limit, to: write)
    case SilentPushData.databaseTableName:
      try RowExporter<SilentPushData>(database, format).export(after: id, limit: limit, to: write)
    default: throw DatabaseError(.invalidArgument, "there is no table \(table) of records")
    }
  }
}

/// Writes rows as text, page by page, straight from the columns.
private struct RowExporter<Record: StoredRecord> {
  private let database: Database
  private let format: ExportFormat
  private let sql = TableSQL(Record.self)
  private let pageSize = 500
  /// In bytes of text; a single row may be larger.
  private let largestPage = 1 << 20

  init(_ database: Database, _ format: ExportFormat) {
    self.database = database
    self.format = format
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
      let names = (0..<row.columnCount).map(row.columnName)
      var json = JSONText()
      var csv = CSVText()
      var page = Page(lastID: id)
      while try row.step() {
        page.count += 1
        page.lastID = try row.ascendingID(after: page.lastID)
        switch format {
        case .jsonLines: append(row, names, to: &json)
        case .csv: append(row, to: &csv)
        }
        page.isFull = max(json.bytes.count, csv.bytes.count) >= largestPage
        if page.isFull { break }
      }
      page.text = format == .csv ? csv.bytes : json.bytes
      return page
    }
  }

  private func append(_ row: Statement, _ names: [String], to json: inout JSONText) {
    json.append(raw: #"{"table":"\#(Record.databaseTableName)""#)
    for (index, name) in zip(Int32(0)..., names) {
      json.append(raw: #","\#(name)":"#)
      switch row.kind(at: index) {
      case .null: json.append(raw: "null")
      case .integer: json.append(row.int64(at: index))
      default: row.withText(at: index) { json.append($0) }
      }
    }
    json.append(raw: "}\n")
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
    let special: Set<UInt8> = [UInt8(ascii: "\""), UInt8(ascii: ","), UInt8(ascii: "\n"), UInt8(ascii: "\r")]
    guard field.utf8.contains(where: special.contains) else {
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

  mutating func endLine() {
    bytes.append(contentsOf: [UInt8(ascii: "\r"), UInt8(ascii: "\n")])
    isAtStart = true
  }
}
