import EncryptedSQLite

/// The receipts that wait in the store to be sent. Every call belongs inside a transaction.
package struct DeliveryReceiptQueue {
  private let connection: Connection

  package init(_ connection: Connection) { self.connection = connection }

  /// Keeps `receipt`, unless one of its record waits already.
  ///
  /// - Parameter notBefore: for how long it is left to who adds it, in Unix milliseconds.
  package func add(_ receipt: DeliveryReceipt, notBefore: Int64 = 0) throws {
    try connection.run(
      "INSERT OR IGNORE INTO delivery_receipt (recordId, notificationId, receivedAt, notBefore) VALUES (?, ?, ?, ?)",
      .text(receipt.recordId), .text(receipt.notificationId), .integer(receipt.receivedAt), .integer(notBefore))
  }

  /// The SQL condition that ``add(_:notBefore:)`` did not put the row there, but another program that has the key.
  static let isImpossible =
    "(\(RecordID.isMalformed) OR typeof(notificationId) <> 'text' OR typeof(receivedAt) <> 'integer')"
  /// The number of attempts, 0 where that is impossible.
  private static let attempts =
    "CASE WHEN typeof(attempts) = 'integer' AND attempts BETWEEN 0 AND \(Int32.max - 1) THEN attempts ELSE 0 END"

  /// Removes what is impossible, and ends waits that a wrong clock began.
  ///
  /// - Parameter latest: the last time for which a failure asks to wait now, in Unix milliseconds.
  /// - Returns: whether something was impossible.
  package func discardImpossible(latest: Int64) throws -> Bool {
    try connection.run("DELETE FROM delivery_receipt WHERE \(Self.isImpossible)")
    let removed = connection.changes
    try connection.run(
      """
      UPDATE delivery_receipt SET attempts = \(Self.attempts),
        notBefore = CASE WHEN typeof(notBefore) = 'integer' THEN max(0, notBefore) ELSE 0 END
      WHERE typeof(attempts) <> 'integer' OR attempts NOT BETWEEN 0 AND \(Int32.max) OR typeof(notBefore) <> 'integer'
        OR notBefore < 0
      """)
    let corrected = connection.changes
    try connection.run("UPDATE delivery_receipt SET notBefore = 0 WHERE notBefore > ?", .integer(latest))
    return removed + corrected > 0
  }

  /// The oldest that are due, up to `limit`.
  ///
  /// - Parameter now: Unix milliseconds; nil asks for those as well that a failure asked to wait for.
  package func due(now: Int64?, limit: Int) throws -> [(receipt: DeliveryReceipt, attempts: Int)] {
    var receipts: [(receipt: DeliveryReceipt, attempts: Int)] = []
    try connection.forEachRow(
      """
      SELECT recordId, notificationId, receivedAt, \(Self.attempts) FROM delivery_receipt
      WHERE notBefore <= ? AND NOT \(Self.isImpossible) ORDER BY id LIMIT ?
      """, .integer(now ?? .max), .integer(Int64(limit))
    ) { row in
      receipts.append(
        (
          DeliveryReceipt(
            recordId: row.string(at: 0), notificationId: row.string(at: 1), receivedAt: row.int64(at: 2)),
          row.int(at: 3)
        ))
    }
    return receipts
  }

  package func remove(_ receipt: DeliveryReceipt) throws {
    try connection.run("DELETE FROM delivery_receipt WHERE recordId = ?", .text(receipt.recordId))
  }

  /// - Parameter notBefore: when to try again, in Unix milliseconds.
  package func postpone(_ receipt: DeliveryReceipt, notBefore: Int64) throws {
    try connection.run(
      "UPDATE delivery_receipt SET attempts = 1 + \(Self.attempts), notBefore = ? WHERE recordId = ?",
      .integer(max(0, notBefore)), .text(receipt.recordId))
  }

  package func count() throws -> Int { Int(try connection.integer("SELECT count(*) FROM delivery_receipt") ?? 0) }
}
