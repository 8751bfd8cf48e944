import EncryptedSQLite

/// The ledger's row of one table. Every call belongs inside a transaction.
package struct UploadLedger {
  let connection: Connection
  let table: String

  package init(_ table: String, _ connection: Connection) {
    self.table = table
    self.connection = connection
  }

  // MARK: Reading

  /// Rows that wait to be sent.
  package func pending() throws -> Int {
    Int(
      try connection.integer(
        """
        SELECT (SELECT count(*) FROM \(table) WHERE id > \(Self.cursor(table)) AND \(Self.isNotSetAside(table)))
          + (SELECT count(*) FROM upload_quarantine WHERE tableName = ?1 AND isRequeued = 1)
        """, .text(table)) ?? 0)
  }

  /// How many ids there are from the first row that waits to the last: about as many as ``pending()``, and found without
  /// reading the rows.
  package func pendingIds() throws -> Int {
    Int(
      try connection.integer(
        """
        SELECT max(0, ifnull((SELECT max(id) FROM \(table)), 0) - \(Self.cursor(table)))
          + (SELECT count(*) FROM upload_quarantine WHERE tableName = ?1 AND isRequeued = 1)
        """, .text(table)) ?? 0)
  }

  /// The SQL expression of the largest id that `table`, one of the store's own, has given out.
  static func largestId(_ table: String) -> String {
    "max(ifnull((SELECT max(id) FROM \(table)), 0), "
      + "ifnull((SELECT max(seq) FROM sqlite_sequence WHERE name = '\(table)' AND typeof(seq) = 'integer'), 0))"
  }

  /// The SQL expression of the id through which the rows of `table`, one of the store's own, were sent: 0 where the ledger
  /// says what cannot be.
  static func cursor(_ table: String) -> String {
    "ifnull((SELECT sentThroughId FROM upload_ledger WHERE tableName = '\(table)' AND typeof(sentThroughId) = 'integer' "
      + "AND sentThroughId BETWEEN 0 AND \(largestId(table))), 0)"
  }

  /// The SQL condition that a row of `table`, one of the store's own, was not set aside.
  static func isNotSetAside(_ table: String) -> String {
    "id NOT IN (SELECT rowId FROM upload_quarantine WHERE tableName = '\(table)')"
  }

  /// The query of a batch: `columns` of at most `?3` rows with ids above `?1` and up to `?2`, in the order of their ids.
  package static func query(_ table: String, columns: [String]) -> String {
    """
    SELECT id, \(columns.joined(separator: ", ")) FROM \(table) WHERE id > ?1 AND id <= ?2 AND \(isNotSetAside(table))
    ORDER BY id LIMIT ?3
    """
  }

  /// The query of one row, whether it was set aside or not: its id is `?1` and `?2`.
  package static func queryOfRow(_ table: String, columns: [String]) -> String {
    "SELECT id, \(columns.joined(separator: ", ")) FROM \(table) WHERE id BETWEEN ?1 AND ?2 LIMIT ?3"
  }

  // MARK: A batch's life

  /// From now on `batch` may be on its way.
  package func begin(_ batch: UploadBatch) throws {
    try connection.withStatement(
      """
      UPDATE upload_ledger SET idempotencyKey = ?2, firstId = ?3, lastId = ?4, rowCount = ?5, digest = ?6,
        envelopeTime = ?7, encoderVersion = ?8, serverType = ?9, destination = ?10 WHERE tableName = ?1
      """
    ) { statement in
      statement.bind(table, at: 1)
      statement.bind(batch.idempotencyKey, at: 2)
      statement.bind(batch.firstId, at: 3)
      statement.bind(batch.lastId, at: 4)
      statement.bind(Int64(batch.rowCount), at: 5)
      batch.digest.withUnsafeBytes { statement.bind(blob: $0, at: 6) }
      statement.bind(batch.envelopeTime, at: 7)
      statement.bind(Int64(batch.encoderVersion), at: 8)
      statement.bind(batch.serverType, at: 9)
      statement.bind(batch.destination, at: 10)
      try statement.run()
    }
  }

  /// The receiver took `batch`: it is no longer on its way, and its rows count as sent.
  ///
  /// - Parameter removing: whether the rows are deleted, but for the table's last if `keepingLast`.
  /// - Returns: how many rows were deleted.
  package func acknowledge(_ batch: UploadBatch, removing: Bool, keepingLast: Bool, now: Int64) throws -> Int {
    let isRequeued = try state().sentThroughId >= batch.firstId
    if isRequeued {
      try connection.run(
        "DELETE FROM upload_quarantine WHERE tableName = ? AND rowId = ?", .text(table), .integer(batch.firstId))
    }
    try connection.run(
      """
      UPDATE upload_ledger SET sentThroughId = max(\(Self.cursor(table)), ?2), attempts = 0, notBefore = 0, lastSent = ?3,
        lastError = NULL, lastErrorTime = NULL WHERE tableName = ?1
      """, .text(table), .integer(batch.lastId), .integer(now))
    try discard()
    guard removing else { return 0 }
    let last = keepingLast ? " AND id < (SELECT max(id) FROM \(table))" : ""
    try connection.run(
      "DELETE FROM \(table) WHERE id BETWEEN ? AND ? AND \(Self.isNotSetAside(table))\(last)", .integer(batch.firstId),
      .integer(batch.lastId))
    return connection.changes
  }

  /// Forgets the batch on its way; its rows are planned anew.
  package func discard() throws {
    try connection.run(
      """
      UPDATE upload_ledger SET idempotencyKey = NULL, firstId = NULL, lastId = NULL, rowCount = NULL, digest = NULL,
        envelopeTime = NULL, encoderVersion = NULL, serverType = NULL, destination = NULL WHERE tableName = ?
      """, .text(table))
  }

  /// An attempt failed. `text` tells why, without any content.
  ///
  /// - Parameter notBefore: when to try again, in Unix milliseconds; 0 leaves that open.
  package func fail(_ text: String, notBefore: Int64, now: Int64) throws {
    let attempts = min(Int64(try state().attempts), Self.attempts.upperBound - 1) + 1
    try connection.run(
      """
      UPDATE upload_ledger SET attempts = ?5, notBefore = ?2, lastError = ?3, lastErrorTime = ?4 WHERE tableName = ?1
      """, .text(table), .integer(max(0, notBefore)), .text(text), .integer(now), .integer(attempts))
  }

  /// The most rows in a batch from now on; nil for what the settings say.
  package func setRowLimit(_ limit: Int?) throws {
    try connection.run(
      "UPDATE upload_ledger SET rowLimit = ? WHERE tableName = ?", limit.map { .integer(Int64($0)) } ?? .null,
      .text(table))
  }

  // MARK: Cursor and quarantine

  /// Everything is sent again, from the first row on, but for what was set aside.
  package func startAnew() throws {
    try discard()
    try connection.run(
      """
      UPDATE upload_ledger SET sentThroughId = 0, attempts = 0, notBefore = 0, rowLimit = NULL, lastError = NULL,
        lastErrorTime = NULL WHERE tableName = ?
      """, .text(table))
  }

  /// Sets the row aside: it stays, and no batch takes it along until it is requeued.
  package func quarantine(_ id: Int64, reason: String, now: Int64) throws {
    try connection.run(
      "REPLACE INTO upload_quarantine (tableName, rowId, reason, since) VALUES (?, ?, ?, ?)", .text(table),
      .integer(id), .text(reason), .integer(now))
  }

  /// The rows that were set aside and are not asked for again, by id.
  package func quarantined(limit: Int = 1000) throws -> [QuarantinedRow] {
    var rows: [QuarantinedRow] = []
    try connection.forEachRow(
      "SELECT rowId, reason FROM upload_quarantine WHERE tableName = ? AND isRequeued = 0 LIMIT ?", .text(table),
      .integer(Int64(limit))
    ) { rows.append(QuarantinedRow(table: table, id: $0.int64(at: 0), reason: $0.string(at: 1))) }
    return rows
  }

  package func quarantinedCount() throws -> Int {
    Int(
      try connection.integer(
        "SELECT count(*) FROM upload_quarantine WHERE tableName = ? AND isRequeued = 0", .text(table)) ?? 0)
  }

  /// Lets the rows that were set aside be sent once more. Whoever sends sees to it, for a batch without them may be on
  /// its way.
  ///
  /// - Returns: how many.
  package func requeue() throws -> Int {
    let count = try quarantinedCount()
    try connection.run("UPDATE upload_quarantine SET isRequeued = 1 WHERE tableName = ?", .text(table))
    return count
  }

  /// The first row that was set aside and is to be sent by itself after all. Those after the cursor come up in their
  /// turn, as soon as no batch is on its way. Rows that were deleted meanwhile are forgotten.
  package func nextRequeued() throws -> Int64? {
    try connection.run(
      """
      DELETE FROM upload_quarantine WHERE tableName = ?1 AND isRequeued = 1 AND (rowId NOT IN (SELECT id FROM \(table))
        OR rowId < 1 OR rowId > (SELECT sentThroughId FROM upload_ledger WHERE tableName = ?1 AND idempotencyKey IS NULL))
      """, .text(table))
    return try connection.integer(
      """
      SELECT min(rowId) FROM upload_quarantine WHERE tableName = ?1 AND isRequeued = 1
        AND rowId <= (SELECT sentThroughId FROM upload_ledger WHERE tableName = ?1)
      """, .text(table))
  }
}
