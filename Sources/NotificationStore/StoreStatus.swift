import EncryptedSQLite

/// What a store holds, without its content.
public struct StoreStatus: Sendable {
  public struct Table: Sendable {
    public let name: String
    public let count: Int
    /// Rows that have not been sent; nil before jsonVersion 2, which brings the ledger.
    public let pending: Int?
  }

  public let path: String
  public let jsonVersion: Int
  /// The version that this program writes.
  public let currentVersion: Int
  public let cipher: Cipher
  public let journalMode: String
  /// The main file and its write-ahead log, in bytes.
  public let fileSize: Int
  public let logSize: Int
  public let tables: [Table]

  /// Reads the status of the store at `path`, of whatever version, and changes nothing.
  public init(path: String, key: EncryptionKey, migrator: SchemaMigrator = SchemaMigrator()) throws {
    let connection = try Connection.open(path, key: key, options: .init(access: .readOnly))
    self.path = connection.path
    cipher = connection.cipher
    currentVersion = migrator.currentVersion
    (jsonVersion, journalMode, tables) = try connection.boundedReadTransaction {
      _ = try migrator.pending(on: connection)
      let version = try migrator.version(of: connection)
      let existing = try NotificationStore.tables.filter { table in
        try connection.integer("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", .text(table))
          == 1
      }
      let tables = try existing.map { table in
        let count = try connection.integer("SELECT count(*) FROM \(table)") ?? 0
        let sent = "SELECT sentThroughId FROM upload_ledger WHERE tableName = '\(table)'"
        let pending =
          version < 2 ? nil : try connection.integer("SELECT count(*) FROM \(table) WHERE id > ifnull((\(sent)), 0)")
        return Table(name: table, count: Int(count), pending: pending.map { Int($0) })
      }
      return (version, try connection.text("PRAGMA journal_mode") ?? "", tables)
    }
    fileSize = FileSystem.size(connection.path)
    logSize = FileSystem.size(connection.path + "-wal")
    try connection.close()
  }
}
