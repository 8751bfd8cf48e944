import CSQLCipher

/// Files that are not encrypted, for taking over what they hold.
extension Connection {
  /// Whether the file at `path` is plain SQLite, its write-ahead log not looked at.
  ///
  /// Takes no lock and makes no file. The file is read through SQLite: closing a descriptor of one's own would end the
  /// locks that this process has on the file.
  package static func isPlaintext(_ path: String) -> Bool {
    // A schema that cannot be read proves nothing: a kill may have left its newest pages in the log.
    plainBeginning(of: path)?.hasPlainZeros == true || isPlainSQLite(path)
  }

  /// Opens the plaintext file at `path` and waits for nobody's lock.
  ///
  /// With `.readOnly` a WAL that holds commits is left as it is found. Where there is none, SQLite removes the one that it
  /// creates only on a handle that could write.
  package static func openPlaintext(_ path: String, _ access: Access) throws -> Connection {
    let onlyReads = access == .readOnly && FileSystem.size(path + SideFiles.wal) > 0
    return try plaintext(path, openHandle(path, onlyReads ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE), access)
  }

  /// Opens the plaintext file at `path`, which nobody changes meanwhile, without its log or journal: no lock is taken.
  package static func openPlaintextAlone(_ path: String) throws -> Connection {
    try plaintext(path, openImmutable(path), .readOnly, takesLocks: false)
  }

  private static func plaintext(
    _ path: String, _ handle: OpaquePointer, _ access: Access, takesLocks: Bool = true
  ) throws -> Connection {
    let version: String
    do {
      version = try proveCipher(handle)
    } catch {
      sqlite3_close_v2(handle)
      throw error
    }
    let connection = Connection(
      handle: handle, path: path, cipher: FileFormat().cipher(libraryVersion: version), access: access,
      takesLocks: takesLocks)
    // What sorts does so in memory, and what the schema brings with it is not run.
    try connection.execute(
      """
      PRAGMA temp_store = MEMORY;
      PRAGMA trusted_schema = OFF;
      PRAGMA cell_size_check = ON;
      PRAGMA synchronous = FULL;
      PRAGMA fullfsync = ON;
      PRAGMA checkpoint_fullfsync = ON;
      """)
    return connection
  }
}
