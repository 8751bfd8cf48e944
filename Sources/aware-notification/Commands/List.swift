import Foundation
import NotificationStore

enum List: Command {
  static let name = "list"
  static let summary = "show what was recorded"
  static let usage = "--db PATH [--key-file FILE | --key-fd N] [--table NAME] [--after ID] [--limit N] [--json]"
  static let details = """
    Prints a line a record, in the order of the ids: table, id, time, app, text.
    """
  static let options =
    Option.store + [
      .table("only this table"),
      Option(name: "after", value: "ID", help: "only records with a higher id"),
      Option(name: "limit", value: "N", help: "at most N records of each table"),
      .json,
    ]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let tables = try arguments.tables()
    let after = try arguments.integer("after") ?? 0
    let limit = Int(clamping: try arguments.integer("limit") ?? .max)
    let store = try arguments.openForReading()
    for table in tables {
      if arguments.has("json") {
        try store.export(table, format: .jsonLines, after: after, limit: limit, beside: tables) { try Output.write($0) }
        continue
      }
      switch table {
      case NotificationData.databaseTableName:
        try show(store.notifications, after, limit) {
          "\($0.bundleIdentifier)  \($0.title.isEmpty ? "" : $0.title + ": ")\($0.body)"
        }
      case NotificationTokenData.databaseTableName:
        try show(store.tokens, after, limit) { $0.token }
      default:
        try show(store.silentPushes, after, limit) { $0.payload }
      }
    }
    try store.close()
    return 0
  }

  private static func show<Record: AwareRecord>(
    _ repository: Repository<Record>, _ after: Int64, _ limit: Int, text: (Record) -> String
  ) throws {
    let pageSize = 500
    var cursor = repository.cursor(after: after, pageSize: min(pageSize, limit))
    var lines: [UInt8] = []
    var rest = limit
    while rest > 0, let record = try cursor.next() {
      rest -= 1
      let line = "\(Record.databaseTableName) \(record.id ?? 0)  \(time(record.timestamp))  \(text(record))"
      lines.append(contentsOf: line.escapingControls.utf8)
      lines.append(UInt8(ascii: "\n"))
      if lines.count > 1 << 15 {
        try Output.write(lines)
        lines.removeAll(keepingCapacity: true)
      }
    }
    try Output.write(lines)
  }

  /// UTC to the second, as ISO 8601.
  private static func time(_ milliseconds: Int64) -> String {
    var seconds = time_t(milliseconds / 1000)
    var parts = tm()
    guard gmtime_r(&seconds, &parts) != nil else { return "\(milliseconds)" }
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
      + "T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
  }
}
