import EncryptedSQLite

extension NotificationStore {
  /// Copies the store to a new file, consistent as of now while others write. See
  /// ``EncryptedSQLite/Database/backUp(_:key:to:backupKey:busyTimeout:progress:)``.
  ///
  /// - Parameter key: the copy's key; nil means the store's own.
  public func backUp(to path: String, key: EncryptionKey? = nil) throws -> BackupReport {
    try Database.backUp(database.path, key: database.keyInForce, to: path, backupKey: key)
  }

  /// Puts a copy of the backup of a store at `path`. See
  /// ``EncryptedSQLite/Database/restore(_:key:from:backupKey:busyTimeout:isInterrupted:check:)``.
  ///
  /// - Throws: as that, and `schemaTooNew`, `migrationChanged`, `notAStore`: nothing is changed.
  public static func restore(
    _ path: String, key: EncryptionKey, from backup: String, backupKey: EncryptionKey? = nil,
    isInterrupted: @escaping () -> Bool = { false }
  ) throws -> BackupReport {
    try Database.restore(path, key: key, from: backup, backupKey: backupKey, isInterrupted: isInterrupted) { source in
      let migrator = SchemaMigrator()
      _ = try migrator.pending(on: source)
      guard try migrator.version(of: source) > 0 else {
        throw DatabaseError(.notAStore, "\(source.path) opens and holds none of a store's tables: check the path")
      }
    }
  }
}

extension DatabaseError.Code {
  /// The encrypted file is not a store of notifications.
  public static let notAStore = Self(rawValue: "notAStore")
}
