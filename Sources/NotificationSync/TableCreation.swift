/// Asks a server of type `aware` to make a table.
enum TableCreation {
  /// The form that its `create_table` reads. The device's own row ids are no key there: every device counts from 1.
  static func body(deviceId: String, columns: [String]) -> [UInt8] {
    let body = ByteBuffer(capacity: 1 << 10)
    body.append("device_id=")
    append(deviceId, to: body)
    body.append("&fields=")
    append(fields(columns), to: body)
    return Array(body.bytes)
  }

  static func fields(_ columns: [String]) -> String {
    let types = ["id": "bigint default 0"].merging(columns.map { ($0, type(of: $0)) }) { first, _ in first }
    // No blank after a comma: the server takes what stands before the first one for a column's name.
    return "_id integer primary key autoincrement,"
      + (["id"] + columns).map { "\($0) \(types[$0] ?? "text")" }.joined(separator: ",")
  }

  private static func type(of column: String) -> String {
    switch column {
    case "timestamp": "real default 0"
    case "timezone", "timezoneOffset", "jsonVersion", "badge", "interruptionLevel": "integer default 0"
    default: "text"
    }
  }

  /// Whether the server did so, or had no need to: it says nothing, or repeats the statement that it ran.
  static func isDone(_ response: HTTPResponse) -> Bool {
    let words = ["CREATE TABLE IF NOT EXISTS `ios_", "ALTER TABLE `ios_"]
    return (200..<300).contains(response.status) && !response.isCut
      && words.contains { response.body.starts(with: $0.utf8) }
  }

  private static func append(_ text: String, to body: ByteBuffer) {
    var text = text
    text.withUTF8 { body.append(formEncoded: $0) }
  }

  static let refused = SyncError(
    .refused, "the server's answer to create_table is none of its own: make the tables there")
}
