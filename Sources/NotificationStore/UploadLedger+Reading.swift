import EncryptedSQLite

/// What the ledger says, as far as it can be: another program that has the key may have written anything into it.
extension UploadLedger {
  package func state() throws -> UploadState { try read().state }

  /// More are impossible: each took a request.
  static let attempts: ClosedRange<Int64> = 0...Int64(Int32.max)
  /// Unix milliseconds of the years 1 to 9999.
  static let times: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

  /// The state, and what of the row is impossible and left out of it. Names columns, and no values.
  func read() throws -> (state: UploadState, faults: [String]) {
    let query = """
      SELECT sentThroughId, attempts, notBefore, rowLimit, lastSent, lastError, lastErrorTime, idempotencyKey, firstId,
        lastId, rowCount, digest, envelopeTime, encoderVersion, serverType, destination, \(Self.largestId(table))
      FROM upload_ledger WHERE tableName = ?
      """
    return try connection.firstRow(query, .text(table)) { statement in
      var row = LedgerRow(statement)
      var state = UploadState()
      let largestId = statement.int64(at: 16)
      state.sentThroughId =
        row.integer(at: 0, in: 0...max(0, largestId), "the cursor is no id that the table has given out") ?? 0
      state.attempts = Int(row.integer(at: 1, in: Self.attempts, "attempts is no possible number") ?? 0)
      state.notBefore = row.integer(at: 2, in: 0...Self.times.upperBound, "notBefore is no possible time") ?? 0
      state.rowLimit = row.integer(at: 3, in: 1...Int64(Int32.max), "rowLimit is no possible number").map { Int($0) }
      state.lastSent = row.integer(at: 4, in: Self.times, "lastSent is no possible time")
      state.lastError = row.text(at: 5, "lastError is no text")
      state.lastErrorTime = row.integer(at: 6, in: Self.times, "lastErrorTime is no possible time")
      state.batch = row.batch(after: state.sentThroughId, largestId: largestId)
      return (state, row.faults)
    } ?? (UploadState(), ["the ledger has no row of the table"])
  }

  /// Writes the ledger and the quarantine of all tables as ``read()`` takes them to be.
  ///
  /// - Returns: what was impossible and is discarded. Names tables and columns, and no values.
  package static func discardImpossible(on connection: Connection) throws -> [String] {
    var faults = try NotificationStore.tables.flatMap { table in
      try UploadLedger(table, connection).discardImpossible().map { "\(table): \($0)" }
    }
    let known = NotificationStore.tables.map { "'\($0)'" }.joined(separator: ", ")
    for table in ["upload_ledger", "upload_quarantine"] {
      try connection.run("DELETE FROM \(table) WHERE tableName NOT IN (\(known))")
      if connection.changes > 0 { faults.append("\(table) holds rows of no table of records") }
    }
    return faults
  }

  private func discardImpossible() throws -> [String] {
    var (state, faults) = try read()
    if !faults.isEmpty {
      try connection.run("INSERT OR IGNORE INTO upload_ledger (tableName) VALUES (?)", .text(table))
      if state.batch == nil { try discard() }
      try connection.run(
        """
        UPDATE upload_ledger SET sentThroughId = ?2, attempts = ?3, notBefore = ?4, rowLimit = ?5, lastSent = ?6,
          lastError = ?7, lastErrorTime = ?8 WHERE tableName = ?1
        """, .text(table), .integer(state.sentThroughId), .integer(Int64(state.attempts)), .integer(state.notBefore),
        state.rowLimit.map { .integer(Int64($0)) } ?? .null, state.lastSent.map { .integer($0) } ?? .null,
        state.lastError.map { .text($0) } ?? .null, state.lastErrorTime.map { .integer($0) } ?? .null)
    }
    try connection.run(
      "DELETE FROM upload_quarantine WHERE tableName = ? AND (typeof(rowId) <> 'integer' OR rowId < 1)", .text(table))
    if connection.changes > 0 { faults.append("the quarantine holds ids that no row has") }
    try connection.run(
      """
      UPDATE upload_quarantine SET reason = CASE typeof(reason) WHEN 'text' THEN reason ELSE 'unknown' END,
        since = CASE typeof(since) WHEN 'integer' THEN since ELSE 0 END, isRequeued = isRequeued IS 1
      WHERE tableName = ? AND (typeof(reason) <> 'text' OR typeof(since) <> 'integer' OR typeof(isRequeued) <> 'integer'
        OR isRequeued NOT IN (0, 1))
      """, .text(table))
    if connection.changes > 0 { faults.append("the quarantine holds impossible values") }
    return faults
  }
}

/// Takes the values of a ledger's row that are possible, and notes those that are not.
private struct LedgerRow {
  private let row: Statement
  private(set) var faults: [String] = []

  init(_ row: Statement) { self.row = row }

  mutating func integer(at index: Int32, in range: ClosedRange<Int64>, _ fault: String) -> Int64? {
    guard !row.isNull(at: index) else { return nil }
    let value = integer(at: index, in: range)
    if value == nil { faults.append(fault) }
    return value
  }

  mutating func text(at index: Int32, _ fault: String) -> String? {
    guard !row.isNull(at: index) else { return nil }
    let value = text(at: index)
    if value == nil { faults.append(fault) }
    return value
  }

  /// The batch on its way, of columns 7 to 15: whole and possible, or none.
  mutating func batch(after sentThroughId: Int64, largestId: Int64) -> UploadBatch? {
    guard !(7...15).allSatisfy({ row.isNull(at: $0) }) else { return nil }
    let small = 0...Int64(Int32.max)
    guard let key = text(at: 7), (1...255).contains(key.utf8.count), key.utf8.allSatisfy(Self.isKeyCharacter),
      largestId >= 1, let firstId = integer(at: 8, in: 1...largestId),
      let lastId = integer(at: 9, in: firstId...largestId),
      // Of rows after the cursor, or of one that was requeued.
      firstId > sentThroughId || firstId == lastId,
      let rowCount = integer(at: 10, in: 1...Int64(Int32.max)), rowCount - 1 <= lastId - firstId,
      row.kind(at: 11) == .blob, case let digest = row.withBlob(at: 11, { Array($0) }), digest.count == 32,
      let envelopeTime = integer(at: 12, in: .min ... .max), let encoderVersion = integer(at: 13, in: small),
      let serverType = text(at: 14), let destination = text(at: 15)
    else {
      faults.append("the batch on its way is not complete, or does not fit the records")
      return nil
    }
    return UploadBatch(
      idempotencyKey: key, firstId: firstId, lastId: lastId, rowCount: Int(rowCount), digest: digest,
      envelopeTime: envelopeTime, encoderVersion: Int(encoderVersion), serverType: serverType, destination: destination)
  }

  private func integer(at index: Int32, in range: ClosedRange<Int64>) -> Int64? {
    guard row.kind(at: index) == .integer, case let value = row.int64(at: index), range.contains(value) else {
      return nil
    }
    return value
  }

  private func text(at index: Int32) -> String? { row.kind(at: index) == .text ? row.string(at: index) : nil }

  /// Of the UUIDs that idempotency keys are, and harmless in a header.
  private static func isKeyCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
