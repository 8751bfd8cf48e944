import EncryptedSQLite
import Foundation

extension NotificationStore {
  /// The tables of the three record types.
  public static let tables = [
    NotificationData.databaseTableName, NotificationTokenData.databaseTableName, SilentPushData.databaseTableName,
  ]

  /// The tables that hold what the store itself needs to know.
  static let ownTables = [
    "upload_ledger", "upload_quarantine", "upload_lease", "delivery_receipt", "store_property", "schema_migration",
  ]

  /// Removes all that was recorded, as when a participant withdraws: every row, what waits in the spool, what the upload
  /// ledger knows of them, and the pages and log frames they stood in. Store, key, device id and schema stay.
  ///
  /// - Throws: `busy` when another process reads the store, before or after the rows are gone; call it again then.
  public func wipe() throws {
    try NotificationSpool(besideStore: database.path).wipe()
    try database.withWriter { connection in
      try connection.writeTransaction {
        for table in Self.tables + ["delivery_receipt", "upload_quarantine"] {
          try connection.execute("DELETE FROM \(table)")
        }
        // A row without a batch, a cursor or an error; who sends just now finds its batch gone.
        try connection.execute("DELETE FROM upload_ledger; DELETE FROM sqlite_sequence")
        for table in Self.tables {
          try connection.run("INSERT INTO upload_ledger (tableName) VALUES (?)", .text(table))
        }
      }
      // The zeroed pages reach the file before it shrinks.
      try connection.foldLogIn()
      try connection.execute("VACUUM")
      try connection.foldLogIn()
    }
  }

  /// Deletes rows older than the configured age: those that were sent, and unsent ones only when configured so.
  ///
  /// Called whenever the store is opened; an app that runs for weeks calls it from time to time.
  ///
  /// - Returns: how many rows were deleted.
  @discardableResult
  public func deleteExpired(now: Int64 = UnixTime.milliseconds()) throws -> Int {
    guard let maximumAge = configuration.maximumAge else { return 0 }
    let oldest = now - Int64(maximumAge * 1000)
    return try Self.tables.reduce(0) { try $0 + deleteExpired($1, oldest) }
  }

  /// A thousand rows a transaction, so that nobody waits long for the write lock.
  private func deleteExpired(_ table: String, _ oldest: Int64) throws -> Int {
    let limit = configuration.deletesUnsentRows ? "9223372036854775807" : "sentThroughId"
    let unsent = configuration.deletesUnsentRows ? "" : " AND \(UploadLedger.isNotSetAside(table))"
    let expired = """
      SELECT id FROM \(table) WHERE id > ?1 AND timestamp < ?2
        AND id <= (SELECT \(limit) FROM upload_ledger WHERE tableName = '\(table)')\(unsent) ORDER BY id LIMIT 1000
      """
    var deleted = 0
    var last: Int64 = 0
    while true {
      let ids = try database.read { connection in
        var ids: [Int64] = []
        try connection.forEachRow(expired, .integer(last), .integer(oldest)) { ids.append($0.int64(at: 0)) }
        return ids
      }
      guard let newest = ids.last else { return deleted }
      deleted += try database.write { connection in
        try ids.reduce(0) {
          try connection.run("DELETE FROM \(table) WHERE id = ?", .integer($1))
          return $0 + connection.changes
        }
      }
      last = newest
    }
  }
}
