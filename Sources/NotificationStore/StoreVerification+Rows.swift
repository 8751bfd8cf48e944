import EncryptedSQLite

/// What the rows say of each other.
extension StoreVerification {
  /// Looked for by queries that each give a row a fault: a table or an id, never a value of a row.
  private typealias Rule = (query: String, text: (String) -> String)

  static func ledgerFaults(_ connection: Connection) throws -> (String, [String]) {
    guard try hasLedger(connection) else { return ("no ledger in this jsonVersion", []) }
    let tables = NotificationStore.tables.map { "'\($0)'" }.joined(separator: ", ")
    let batch = [
      "idempotencyKey", "firstId", "lastId", "rowCount", "digest", "envelopeTime", "encoderVersion", "serverType",
      "destination",
    ]
    let set = batch.map { "(\($0) IS NOT NULL)" }.joined(separator: " + ")
    let counter = "ifnull((SELECT max(seq) FROM sqlite_sequence WHERE name = tableName), 0)"
    let isKnown = "WHERE tableName IN (\(tables)) AND"
    let rules: [Rule] = [
      (
        "SELECT substr(tableName, 1, 100) FROM upload_ledger WHERE tableName NOT IN (\(tables))",
        { "\($0) is no table of records" }
      ),
      (
        "SELECT tableName FROM upload_ledger \(isKnown) (typeof(sentThroughId) <> 'integer' OR sentThroughId < 0 "
          + "OR sentThroughId > \(counter))", { "\($0): what is sent goes beyond the last record" }
      ),
      (
        "SELECT tableName FROM upload_ledger \(isKnown) \(set) NOT IN (0, \(batch.count))",
        { "\($0): the batch in flight is not complete" }
      ),
      (
        "SELECT tableName FROM upload_ledger \(isKnown) firstId IS NOT NULL AND (typeof(firstId) <> 'integer' "
          + "OR typeof(lastId) <> 'integer' OR typeof(rowCount) <> 'integer' "
          + "OR (firstId <= sentThroughId AND firstId <> lastId) "
          + "OR firstId > lastId OR lastId > \(counter) OR rowCount NOT BETWEEN 1 AND lastId - firstId + 1)",
        { "\($0): the batch in flight does not fit the records" }
      ),
      (
        "SELECT tableName FROM upload_ledger \(isKnown) (typeof(attempts) <> 'integer' OR attempts < 0 "
          + "OR typeof(notBefore) <> 'integer' OR notBefore < 0)",
        { "\($0): attempts or time of the next are no number or negative" }
      ),
      (
        "SELECT rowId FROM upload_quarantine WHERE tableName NOT IN (\(tables)) OR typeof(rowId) <> 'integer' "
          + "OR typeof(since) <> 'integer' OR typeof(reason) <> 'text' OR isRequeued NOT IN (0, 1)",
        { "upload_quarantine: row \($0) has impossible values" }
      ),
      (
        "SELECT id FROM delivery_receipt WHERE typeof(receivedAt) <> 'integer' OR typeof(attempts) <> 'integer' "
          + "OR attempts < 0 OR typeof(notBefore) <> 'integer' OR notBefore < 0 OR typeof(notificationId) <> 'text' "
          + "OR \(isNoRecordID)", { "delivery_receipt: row \($0) has impossible values" }
      ),
      (
        "SELECT substr(name, 1, 100) FROM store_property WHERE typeof(name) <> 'text' OR typeof(value) <> 'text' "
          + "OR (name = 'deviceId' AND value = '')", { "store_property: \($0) has no usable value" }
      ),
    ]
    var faults: [String] = []
    for table in NotificationStore.tables
    where try connection.integer("SELECT count(*) FROM upload_ledger WHERE tableName = ?", .text(table)) != 1 {
      faults.append("\(table) has no row")
    }
    faults += try rules.flatMap { try found($0, connection) }
    return ("cursors, batches, receipts and properties", faults)
  }

  static func recordFaults(_ connection: Connection) throws -> (String, [String]) {
    guard try hasLedger(connection) else { return ("records have no identity in this jsonVersion", []) }
    var faults: [String] = []
    for table in NotificationStore.tables {
      faults += try found(
        ("SELECT id FROM \(table) WHERE \(isNoRecordID)", { "\(table): the recordId of row \($0) is no UUID" }),
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

  /// A UUID in lower case.
  private static var isNoRecordID: String {
    let digit = "[0-9a-f]"
    let form = [8, 4, 4, 4, 12].map { String(repeating: digit, count: $0) }.joined(separator: "-")
    return "NOT (typeof(recordId) = 'text' AND lower(recordId) GLOB '\(form)')"
  }

  private static func found(_ rule: Rule, _ connection: Connection) throws -> [String] {
    try connection.withStatement(rule.query) { row in
      var faults: [String] = []
      while faults.count <= faultLimit, try row.step() { faults.append(rule.text(row.string(at: 0))) }
      return faults
    }
  }
}
