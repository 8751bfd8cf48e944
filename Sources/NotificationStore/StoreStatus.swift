import EncryptedSQLite

/// What a store holds, without its content.
public struct StoreStatus: Sendable {
  public struct Table: Sendable {
    public let name: String
    public let count: Int
    /// What is known of its uploads; nil before jsonVersion 2, which brings the ledger.
    public let uploads: Uploads?
    /// Rows that wait to be sent.
    public var pending: Int? { uploads?.pending }
  }

  public struct Uploads: Sendable {
    public let pending: Int
    /// Rows of the batch that may be on its way.
    public let inFlight: Int
    /// Rows that were set aside.
    public let quarantined: Int
    /// When a batch was last taken, in Unix milliseconds.
    public let lastSent: Int64?
    /// What went wrong since.
    public let lastError: String?
    /// The next attempt is due then, in Unix milliseconds; nil means any time.
    public let notBefore: Int64?
  }

  public let path: String
  public let jsonVersion: Int
  /// The version that this program writes.
  public let currentVersion: Int
  public let cipher: Cipher
  /// What kind of key opens it: ``EncryptedSQLite/EncryptionKey/kindInWords``.
  public let keyKind: String
  public let journalMode: String
  /// The main file and its write-ahead log, in bytes.
  public let fileSize: Int
  public let logSize: Int
  public let tables: [Table]
  /// What waits in the spool next to the store, for the next program that opens it for writing.
  public let spool: SpoolReport

  /// Reads the status of the store at `path`, of whatever version, and changes nothing.
  ///
  /// - Parameter previousKey: a key under which something may wait in the spool still.
  public init(
    path: String, key: EncryptionKey, previousKey: EncryptionKey? = nil, migrator: SchemaMigrator = SchemaMigrator()
  ) throws {
    let connection = try Connection.open(path, key: key, options: .init(access: .readOnly))
    self.path = connection.path
    cipher = connection.cipher
    keyKind = key.kindInWords
    currentVersion = migrator.currentVersion
    (jsonVersion, journalMode, tables) = try connection.boundedReadTransaction {
      _ = try migrator.pending(on: connection)
      let version = try migrator.version(of: connection)
      let existing = try NotificationStore.tables.filter { table in
        try connection.integer("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", .text(table))
          == 1
      }
      let tables = try existing.map { table in
        let count = try connection.integer("SELECT count(*) FROM \(table) WHERE 1") ?? 0
        return Table(
          name: table, count: Int(count), uploads: version < 2 ? nil : try Uploads(UploadLedger(table, connection)))
      }
      return (version, try connection.text("PRAGMA journal_mode") ?? "", tables)
    }
    spool = NotificationSpool(besideStore: connection.path).inspect([key] + [previousKey].compactMap { $0 })
    fileSize = FileSystem.size(connection.path)
    logSize = FileSystem.size(connection.path + "-wal")
    try connection.close()
  }
}

extension StoreStatus.Uploads {
  fileprivate init(_ ledger: UploadLedger) throws {
    let state = try ledger.state()
    pending = try ledger.pending()
    inFlight = state.batch?.rowCount ?? 0
    quarantined = try ledger.quarantinedCount()
    lastSent = state.lastSent
    lastError = state.lastError
    notBefore = state.notBefore > 0 ? state.notBefore : nil
  }
}
