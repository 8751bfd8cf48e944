import EncryptedSQLite

extension NotificationStore {
  /// Takes in what waits in the spool beside the store; each entry once. What stands in its way does not keep the store
  /// from being used, and is in the report.
  ///
  /// - Parameter keys: that may have sealed it, beside the store's own.
  static func spoolTakenIn(
    to database: Database, _ configuration: Configuration, _ deviceId: String, _ keys: [EncryptionKey] = []
  ) -> SpoolReport {
    let spool = NotificationSpool(besideStore: database.path)
    guard !spool.isEmpty else { return SpoolReport() }
    let own = [database.keyInForce, configuration.key, configuration.previousKey].compactMap { $0 }
    do {
      return try spool.takeIn(own + keys) { try keep($0, database, deviceId) }
    } catch let error as DatabaseError {
      return SpoolReport(faults: [error])
    } catch {
      return SpoolReport(faults: [DatabaseError(.database, "what waits beside the store was not taken in: \(error)")])
    }
  }

  /// As at opening, for what was sealed since.
  @discardableResult
  package func takeSpoolIn(_ keys: [EncryptionKey] = []) -> SpoolReport {
    Self.spoolTakenIn(to: database, configuration, deviceId, keys)
  }

  private static func keep(_ entries: [SpoolEntry], _ database: Database, _ deviceId: String) throws {
    try database.withWriter { connection in
      // On the medium before the spool's file goes.
      try connection.withSynchronous("FULL") {
        try connection.writeTransaction {
          for entry in entries { try keep(entry, deviceId, connection) }
        }
      }
    }
  }

  private static func keep(_ entry: SpoolEntry, _ deviceId: String, _ connection: Connection) throws {
    switch entry {
    case .notification(let data):
      guard try !isKnown(data, connection) else { return }
      _ = try record([PushRecords(notification: data)], deviceId, connection)
    case .silentPush(let data):
      guard try !isKnown(data, connection) else { return }
      _ = try record([PushRecords(silentPush: data)], deviceId, connection)
    case .token(let data):
      guard try !isKnown(data, connection) else { return }
      _ = try Repository.insert([data], TableSQL(NotificationTokenData.self), deviceId, connection)
    case .receipt(let receipt): try DeliveryReceiptQueue(connection).add(receipt)
    }
  }

  private static func isKnown<Record: AwareRecord>(_ record: Record, _ connection: Connection) throws -> Bool {
    try connection.integer(
      "SELECT count(*) FROM \(Record.databaseTableName) WHERE recordId = ?", .text(record.recordId)) != 0
  }
}
