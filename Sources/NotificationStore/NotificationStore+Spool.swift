import EncryptedSQLite

extension NotificationStore {
  /// Imports what waits in the spool of the store, each push once. What stands in its way does not keep the store from
  /// being used, and is in the report.
  ///
  /// - Parameter keys: that may have encrypted it, beside the store's own.
  static func spoolTakenIn(
    to database: Database, _ configuration: Configuration, _ deviceId: String, _ keys: [EncryptionKey] = []
  ) -> SpoolReport {
    let spool = NotificationSpool(besideStore: database.path)
    guard !spool.isEmpty else { return SpoolReport() }
    let own = [database.keyInForce, configuration.key, configuration.previousKey].compactMap { $0 }
    return spool.takeIn(distinct(own + keys)) { try keep($0, database, deviceId) }
  }

  /// As at opening, for what was written since.
  @discardableResult
  package func takeSpoolIn(_ keys: [EncryptionKey] = []) -> SpoolReport {
    Self.spoolTakenIn(to: database, configuration, deviceId, keys)
  }

  private static func distinct(_ keys: [EncryptionKey]) -> [EncryptionKey] {
    keys.reduce(into: []) { distinct, key in
      if !distinct.contains(where: { $0.isSameKey(as: key) }) { distinct.append(key) }
    }
  }

  private static func keep(_ pushes: [[SpoolEntry]], _ database: Database, _ deviceId: String) throws {
    try database.withWriter { connection in
      // On the medium before the spool's files are removed.
      try connection.withSynchronous("FULL") {
        try connection.writeTransaction {
          for entry in pushes.joined() { try keep(entry, deviceId, connection) }
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
