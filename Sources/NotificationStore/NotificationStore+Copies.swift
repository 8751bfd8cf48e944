import EncryptedSQLite

extension NotificationStore {
  /// Copies the store to a new file, consistent as of now while others write. See
  /// ``EncryptedSQLite/Database/backUp(_:key:to:backupKey:busyTimeout:progress:)``.
  ///
  /// - Parameter key: the copy's key; nil means the store's own.
  public func backUp(to path: String, key: EncryptionKey? = nil) throws -> BackupReport {
    // It belongs to the store, and is in no copy otherwise.
    takeSpoolIn()
    return try Database.backUp(database.path, key: database.keyInForce, to: path, backupKey: key)
  }

  /// Whether every record of the store at `other` is in the one at `path`, by its identity.
  package static func holdsAll(_ path: String, of other: String, key: EncryptionKey) throws -> Bool {
    let source = try Connection.open(other, key: key, options: .init(access: .readOnly))
    defer { try? source.close() }
    return try source.readTransaction { try holdsAll(path, of: source, key) }
  }

  private static func holdsAll(_ path: String, of source: Connection, _ key: EncryptionKey) throws -> Bool {
    let store = try open(path, key)
    defer { try? store.close() }
    return try store.database.read { target in
      try tables.allSatisfy { table in
        try target.withStatement("SELECT 1 FROM \(table) WHERE recordId = ?") { known in
          var holds = true
          try source.forEachRow("SELECT recordId FROM \(table)") { row in
            guard holds else { return }
            known.bind(row.string(at: 0), at: 1)
            holds = try known.step()
            known.reset()
          }
          return holds
        }
      }
    }
  }

  /// Removes the store at `old`, once no other connection can write to it and every record of it is in the one at `path`.
  ///
  /// - Throws: `busy`, `alreadyExists` when the other lacks a record, and what opening throws; nothing is removed then.
  package static func remove(_ old: String, key: EncryptionKey, heldIn path: String) throws {
    try Database.remove(old, key: key) { source in
      guard try holdsAll(path, of: source, key) else {
        throw DatabaseError(.alreadyExists, "\(old) has records that \(path) lacks, and stays: move it away")
      }
    }
  }

  private static func open(_ path: String, _ key: EncryptionKey) throws -> NotificationStore {
    try NotificationStore(.init(path: path, key: key, access: .readOnly))
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
