import EncryptedSQLite

/// What the rows say of each other.
extension StoreVerification {
  /// Looked for by queries that each give a row a fault: a table or an id, never a value of a row.
  private typealias Rule = (query: String, text: (String) -> String)

  static func ledgerFaults(_ connection: Connection) throws -> (String, [String]) {
    guard try hasLedger(connection) else { return ("no ledger in this jsonVersion", []) }
    let tables = NotificationStore.tables.map { "'\($0)'" }.joined(separator: ", ")
    let rules: [Rule] = [
      (
        "SELECT substr(tableName, 1, 100) FROM upload_ledger WHERE tableName NOT IN (\(tables))",
        { "\($0) is no table of records" }
      ),
      (
        "SELECT rowId FROM upload_quarantine WHERE tableName NOT IN (\(tables)) OR typeof(rowId) <> 'integer' OR rowId < 1 "
          + "OR typeof(since) <> 'integer' OR typeof(reason) <> 'text' OR typeof(isRequeued) <> 'integer' "
          + "OR isRequeued NOT IN (0, 1)",
        { "upload_quarantine: row \($0) has impossible values" }
      ),
      (
        "SELECT id FROM delivery_receipt WHERE \(DeliveryReceiptQueue.isImpossible) OR typeof(attempts) <> 'integer' "
          + "OR attempts NOT BETWEEN 0 AND \(Int32.max) OR typeof(notBefore) <> 'integer' OR notBefore < 0",
        { "delivery_receipt: row \($0) has impossible values" }
      ),
      (
        "SELECT substr(name, 1, 100) FROM store_property WHERE typeof(name) <> 'text' OR typeof(value) <> 'text' "
          + "OR (name = 'deviceId' AND value = '')", { "store_property: \($0) has no usable value" }
      ),
    ]
    var faults: [String] = []
    for table in NotificationStore.tables {
      faults += try UploadLedger(table, connection).read().faults.map { "\(table): \($0)" }
    }
    faults += try rules.flatMap { try found($0, connection) }
    return ("cursors, batches, receipts and properties", faults)
  }

  static func recordFaults(_ connection: Connection) throws -> (String, [String]) {
    guard try hasLedger(connection) else { return ("records have no identity in this jsonVersion", []) }
    var faults: [String] = []
    for table in NotificationStore.tables {
      faults += try found(
        ("SELECT id FROM \(table) WHERE \(RecordID.isMalformed)", { "\(table): the recordId of row \($0) is no UUID" }),
        connection)
      // Through the index, so that nothing is sorted.
      faults += try found(
        (
          "SELECT max(id) FROM \(table) INDEXED BY \(table)_recordId GROUP BY recordId HAVING count(*) > 1",
          { "\(table): the recordId of row \($0) is another row's too" }
        ), connection)
      faults += try found(
        (
          "SELECT id FROM \(table) WHERE id > ifnull((SELECT max(seq) FROM sqlite_sequence WHERE name = '\(table)'), 0)",
          { "\(table): row \($0) is beyond the counter of ids" }
        ), connection)
    }
    return ("identities unique and well-formed, ids within their counters", faults)
  }

  private static func hasLedger(_ connection: Connection) throws -> Bool {
    try connection.integer("SELECT count(*) FROM sqlite_master WHERE name = 'upload_ledger'") == 1
  }

  private static func found(_ rule: Rule, _ connection: Connection) throws -> [String] {
    try connection.withStatement(rule.query) { row in
      var faults: [String] = []
      while faults.count <= faultLimit, try row.step() { faults.append(rule.text(row.string(at: 0))) }
      return faults
    }
  }
}
