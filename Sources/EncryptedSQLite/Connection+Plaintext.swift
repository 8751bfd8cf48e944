import CSQLCipher

/// Files that are not encrypted, for taking over what they hold.
extension Connection {
  /// Whether the file at `path` is plain SQLite, its write-ahead log not looked at.
  ///
  /// Takes no lock and makes no file. The file is read through SQLite: closing a descriptor of one's own would end the
  /// locks that this process has on the file.
  package static func isPlaintext(_ path: String) -> Bool {
    hasPlainHeader(path) || isPlainSQLite(path)
  }

  /// An encrypted file with a readable header has the first 32 bytes of a plain one. The zeros that SQLite keeps further
  /// on are encrypted there.
  ///
  /// A schema that cannot be read proves nothing: a kill may have left its newest pages in the log.
  private static func hasPlainHeader(_ path: String) -> Bool {
    guard let handle = try? openHandle(path, SQLITE_OPEN_READONLY) else { return false }
    defer { sqlite3_close_v2(handle) }
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      let read = file.pointee.pMethods?.pointee.xRead
    else { return false }
    var header = [UInt8](repeating: 1, count: 100)
    guard read(file, &header, Int32(header.count), 0) == SQLITE_OK else { return false }
    return header.starts(with: Array("SQLite format 3\0".utf8)) && header[72..<92].allSatisfy { $0 == 0 }
  }

  /// Opens the plaintext file at `path` and waits for nobody's lock.
  ///
  /// With `.readOnly` a write-ahead log is left as it is found.
  package static func openPlaintext(_ path: String, _ access: Access) throws -> Connection {
    try plaintext(path, openHandle(path, flags(path, access)))
  }

  /// Opens the plaintext file at `path`, which nobody changes meanwhile, without its log or journal: no lock is taken.
  package static func openPlaintextAlone(_ path: String) throws -> Connection {
    try plaintext(path, openImmutable(path))
  }

  private static func plaintext(_ path: String, _ handle: OpaquePointer) throws -> Connection {
    let version: String
    do {
      version = try proveCipher(handle)
    } catch {
      sqlite3_close_v2(handle)
      throw error
    }
    let connection = Connection(
      handle: handle, path: path, cipher: Cipher(libraryVersion: version, generation: Cipher.generation(of: version)))
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
