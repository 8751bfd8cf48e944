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
  ///   `spoolUnreadable` when all is gone but a spool in the form of an earlier version.
  public func wipe() throws {
    // What keeps the spool is no reason to keep the rows.
    let wipedSpool = Result { try NotificationSpool(besideStore: database.path).wipe() }
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
    try wipedSpool.get()
  }

  /// Deletes rows older than the configured age: those that were sent, and unsent ones only when configured so.
  ///
  /// A store does it by itself after it was opened and once an hour, in the background; this goes through all rows now,
  /// a thousand at a time, between which other work of the store goes on.
  ///
  /// - Returns: how many rows were deleted.
  @discardableResult
  public func deleteExpired(now: Int64 = UnixTime.milliseconds()) throws -> Int {
    try Expiry(database, configuration)?.deleteAll(now: now) ?? 0
  }
}
