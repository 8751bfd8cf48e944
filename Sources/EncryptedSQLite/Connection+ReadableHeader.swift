import CSQLCipher

/// Files whose first bytes are those of a plain one, and tell what they are.
extension Connection {
  /// Whether the linked library reads and makes files with a readable header: SQLCipher 4 and newer.
  package static var librarySupportsReadableHeaders: Bool {
    (try? libraryVersion()).map { Cipher.generation(of: $0) >= 4 } ?? false
  }

  private static let sizeLookedAt = 100

  /// The file's first bytes as they are on the disk; nil where it has not as many.
  ///
  /// Takes no lock. Read through SQLite's own descriptor: closing another one would end the locks that this process has on
  /// the file.
  static func beginning(of handle: OpaquePointer) -> [UInt8]? {
    guard let file = file(of: handle), let read = file.pointee.pMethods?.pointee.xRead else { return nil }
    var bytes = [UInt8](repeating: 0, count: sizeLookedAt)
    return read(file, &bytes, Int32(bytes.count), 0) == SQLITE_OK ? bytes : nil
  }

  /// As ``beginning(of:)``, of the file at `path`, where that begins as SQLite's do.
  static func plainBeginning(of path: String) -> [UInt8]? {
    guard let handle = try? openHandle(path, SQLITE_OPEN_READONLY) else { return nil }
    defer { sqlite3_close_v2(handle) }
    return beginning(of: handle).flatMap { $0.isLikePlainSQLite ? $0 : nil }
  }

  /// What keeps `key`, which does not open the file at `path`, from ever doing so; nil where that is not its header.
  static func readableHeaderError(_ path: String, _ key: EncryptionKey, libraryVersion: String) -> DatabaseError? {
    guard let beginning = plainBeginning(of: path), !beginning.hasPlainZeros else { return nil }
    guard Cipher.generation(of: libraryVersion) >= 4 else {
      return DatabaseError(
        .readableHeaderUnavailable,
        "\(path) begins like a store with a readable header, which only SQLCipher 4 reads, and this library is "
          + "\(libraryVersion): use a program that links a newer one")
    }
    guard key.kind != .rawKeyWithSalt else { return nil }
    return DatabaseError(
      .wrongKey,
      "\(path) does not open with this key: it begins like a store with a readable header, which needs its raw key with "
        + "the salt (96 hexadecimal digits)")
  }

  /// What the bytes in the clear say that does not fit the file. Nothing authenticates them.
  ///
  /// Only while no page waits in the log. The other bytes are needed for opening, but for the number of changes, which
  /// means nothing by itself.
  package func readableHeaderFaults() throws -> [String] {
    guard cipher.hasReadableHeader, let bytes = Self.beginning(of: handle) else { return [] }
    let version: UInt8 = try text("PRAGMA journal_mode") == "wal" ? 2 : 1
    // SQLite's file format, 1.3.3: who may write, who may read; 1 is a journal's mode, 2 the WAL's. 1.3.7: the number of
    // pages, for which SQLite takes 0 as unknown.
    let count = bytes[28..<32].reduce(0) { $0 << 8 | Int($1) }
    var faults: [String] = []
    if bytes[18] != version || bytes[19] != version {
      faults.append("the readable header does not tell the journal mode")
    }
    if count != (try pageCount) { faults.append("the readable header does not tell the number of pages") }
    return faults
  }
}

extension FileFormat {
  /// The library's own format, with a readable header where the file has one and `key` can go with it.
  static func recognised(_ handle: OpaquePointer, _ key: EncryptionKey, libraryVersion: String) -> Self {
    guard key.kind == .rawKeyWithSalt, Cipher.generation(of: libraryVersion) >= 4 else { return Self() }
    return Self(hasReadableHeader: Connection.beginning(of: handle)?.isLikePlainSQLite == true)
  }
}

extension [UInt8] {
  var isLikePlainSQLite: Bool { starts(with: Array("SQLite format 3\0".utf8)) }

  /// Whether the zeros stand that SQLite keeps at the end of its header, and that are encrypted where only the first 32
  /// bytes are readable.
  var hasPlainZeros: Bool { self[72..<92].allSatisfy { $0 == 0 } }
}
