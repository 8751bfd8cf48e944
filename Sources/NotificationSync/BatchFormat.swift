/// How a batch is written: what the server reads, and which columns it gets.
package struct BatchFormat: Sendable, Equatable {
  package enum Body: String, Sendable {
    /// A JSON object with an array of row objects.
    case rows
    /// A JSON object with one array a column.
    case columns
    /// A form with a JSON array of row objects.
    case form
  }

  package var body: Body
  /// Whether rows carry their `id`.
  package var hasID: Bool
  /// Whether the columns that the public sensor does not know go out as well.
  package var isExtended: Bool

  package var contentType: String {
    body == .form ? "application/x-www-form-urlencoded" : "application/json"
  }

  /// The format's name in the ledger: a batch that was written otherwise is not built again.
  package var name: String {
    body.rawValue + (hasID ? "+id" : "") + (isExtended ? "+extended" : "")
  }

  /// Raised whenever the same rows give other bytes.
  package static let encoderVersion = 1

  package func columns(of table: UploadTable) -> [String] {
    let columns = isExtended ? table.columns : table.publicColumns
    guard body == .columns else { return columns }
    // What is the same in all rows of a device is left out, as the public sensor does it.
    return columns.filter { !["os", "jsonVersion", "deviceId", "timezone"].contains($0) }
  }
}
