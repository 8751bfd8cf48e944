import EncryptedSQLite

/// The ledger's row of one table. Every call belongs inside a transaction.
package struct UploadLedger {
  private let connection: Connection
  private let table: String

  package init(_ table: String, _ connection: Connection) {
    self.table = table
    self.connection = connection
  }

  // MARK: Reading

  package func state() throws -> UploadState {
    var state = UploadState()
    try connection.forEachRow(
      """
      SELECT sentThroughId, attempts, notBefore, rowLimit, lastSent, lastError, lastErrorTime, idempotencyKey, firstId,
        lastId, rowCount, digest, envelopeTime, encoderVersion, serverType, destination
      FROM upload_ledger WHERE tableName = ?
      """, .text(table)
    ) { row in
      state.sentThroughId = row.int64(at: 0)
      state.attempts = row.int(at: 1)
      state.notBefore = row.int64(at: 2)
      state.rowLimit = row.isNull(at: 3) ? nil : row.int(at: 3)
      state.lastSent = row.isNull(at: 4) ? nil : row.int64(at: 4)
      state.lastError = row.isNull(at: 5) ? nil : row.string(at: 5)
      state.lastErrorTime = row.isNull(at: 6) ? nil : row.int64(at: 6)
      guard !row.isNull(at: 7) else { return }
      state.batch = UploadBatch(
        idempotencyKey: row.string(at: 7), firstId: row.int64(at: 8), lastId: row.int64(at: 9),
        rowCount: row.int(at: 10), digest: row.withBlob(at: 11) { Array($0) }, envelopeTime: row.int64(at: 12),
        encoderVersion: row.int(at: 13), serverType: row.string(at: 14), destination: row.string(at: 15))
    }
    return state
  }

  /// Rows that wait to be sent.
  package func pending() throws -> Int {
    let cursor = "ifnull((SELECT sentThroughId FROM upload_ledger WHERE tableName = ?1), 0)"
    return Int(
      try connection.integer(
        """
        SELECT (SELECT count(*) FROM \(table) WHERE id > \(cursor) AND \(Self.isNotSetAside(table)))
          + (SELECT count(*) FROM upload_quarantine WHERE tableName = ?1 AND isRequeued = 1)
        """, .text(table)) ?? 0)
  }

  /// How many ids there are from the first row that waits to the last: about as many as ``pending()``, and found without
  /// reading the rows.
  package func pendingIds() throws -> Int {
    Int(
      try connection.integer(
        """
        SELECT max(0, ifnull((SELECT max(id) FROM \(table)), 0)
            - ifnull((SELECT sentThroughId FROM upload_ledger WHERE tableName = ?1), 0))
          + (SELECT count(*) FROM upload_quarantine WHERE tableName = ?1 AND isRequeued = 1)
        """, .text(table)) ?? 0)
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

  /// The query of one row, whether it was set aside or not.
  package static func queryOfRow(_ table: String, columns: [String]) -> String {
    "SELECT id, \(columns.joined(separator: ", ")) FROM \(table) WHERE id > ?1 AND id <= ?2 LIMIT ?3"
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
      UPDATE upload_ledger SET sentThroughId = max(sentThroughId, ?2), attempts = 0, notBefore = 0, lastSent = ?3,
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
    try connection.run(
      """
      UPDATE upload_ledger SET attempts = attempts + 1, notBefore = ?2, lastError = ?3, lastErrorTime = ?4
      WHERE tableName = ?1
      """, .text(table), .integer(notBefore), .text(text), .integer(now))
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
        OR rowId > (SELECT sentThroughId FROM upload_ledger WHERE tableName = ?1 AND idempotencyKey IS NULL))
      """, .text(table))
    return try connection.integer(
      """
      SELECT min(rowId) FROM upload_quarantine WHERE tableName = ?1 AND isRequeued = 1
        AND rowId <= (SELECT sentThroughId FROM upload_ledger WHERE tableName = ?1)
      """, .text(table))
  }
}
