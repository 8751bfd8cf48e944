import EncryptedSQLite

extension NotificationStore {
  /// Lets rows that were set aside be sent once more.
  ///
  /// - Returns: how many.
  @discardableResult
  public func requeue() throws -> Int {
    try database.write { connection in
      try Self.tables.reduce(0) { try $0 + UploadLedger($1, connection).requeue() }
    }
  }

  /// From now on nothing counts as sent: the next sync sends everything, and the receiver drops what it knows by
  /// `recordId`.
  public func startUploadsAnew() throws {
    try database.write { connection in
      for table in Self.tables { try UploadLedger(table, connection).startAnew() }
    }
  }
}
