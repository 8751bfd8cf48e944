import Foundation

/// What one file of the spool holds: the records of one push, and its place among the others.
struct SpooledPush {
  /// A place in the order of import.
  struct Order: Comparable {
    /// When the push arrived, in Unix milliseconds.
    let arrival: Int64
    /// The process that wrote it.
    let writer: String
    /// That process's number of it.
    let sequence: Int64

    static func < (left: Self, right: Self) -> Bool {
      (left.arrival, left.writer, left.sequence) < (right.arrival, right.writer, right.sequence)
    }
  }

  let entries: [SpoolEntry]
  let order: Order

  /// - Parameter entries: with identities.
  init(_ entries: [SpoolEntry], writer: String, sequence: Int64) {
    self.entries = entries
    order = Order(arrival: entries.first?.timestamp ?? 0, writer: writer, sequence: sequence)
  }

  /// JSON: `writer`, `sequence`, and `records` as ``SpoolEntry/object`` gives them, each with its `recordId`.
  func encoded() throws -> Data {
    try JSONSerialization.data(withJSONObject: [
      "writer": order.writer, "sequence": order.sequence, "records": entries.map(\.object),
    ])
  }

  /// nil for what this version does not know, and for a record without an identity, which a kill would double.
  init?(_ json: Data) {
    guard let object = try? JSONSerialization.jsonObject(with: json) as? [String: Any],
      let writer = object["writer"] as? String, let sequence = (object["sequence"] as? NSNumber)?.int64Value,
      let records = object["records"] as? [[String: Any]], !records.isEmpty
    else { return nil }
    let entries = records.compactMap { SpoolEntry($0) }
    guard entries.count == records.count, entries.allSatisfy({ !$0.recordId.isEmpty }) else { return nil }
    self.init(entries, writer: writer, sequence: sequence)
  }
}
