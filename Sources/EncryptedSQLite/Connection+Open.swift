import CSQLCipher
import Foundation

extension Connection {
  public enum Access: Sendable {
    case readOnly
    case readWrite
  }

  /// When a commit is on the disk.
  public enum Synchronous: String, Sendable {
    /// A commit survives the end of the process at once, and a power cut from the next checkpoint on.
    case normal = "NORMAL"
    /// A commit survives a power cut once it has returned; about four times slower for single rows.
    case full = "FULL"
  }

  public struct Options: Sendable {
    public var access: Access
    public var synchronous: Synchronous
    /// How long opening, or a statement, waits for another connection's lock, in seconds; 5 where none is given. While
    /// another process replaces the file, as for a rotation by a copy, the time does not count.
    public var busyTimeout: Double
    /// What the file is written with in place of the defaults.
    public var cipherSettings: Cipher.Settings
    /// Whether a file that is made leaves its first 32 bytes in the clear; one that exists is opened as it is.
    ///
    /// For a file in a container that apps share on iOS. The system ends an app that holds a lock on such a file when it
    /// is suspended, unless it sees by the file's first bytes that this is SQLite in the write-ahead log's mode. They tell
    /// the page size, the number of pages and of changes. The salt is not in the file then: it takes SQLCipher 4 and a raw
    /// key with its salt, otherwise it is `readableHeaderUnavailable`.
    public var hasReadableHeader: Bool

    public init(
      access: Access = .readWrite, synchronous: Synchronous = .normal, busyTimeout: Double? = nil,
      cipherSettings: Cipher.Settings = .init(), hasReadableHeader: Bool = false
    ) {
      self.hasReadableHeader = hasReadableHeader
      self.cipherSettings = cipherSettings
      self.access = access
      self.synchronous = synchronous
      self.busyTimeout = busyTimeout ?? LockWait.policy.snapshot.timeout
    }
  }

  /// Opens the existing encrypted file at `path` and proves cipher and key by reading a page.
  ///
  /// A file in the format of an older SQLCipher is opened as it is, and so is one with a readable header; ``cipher``
  /// tells. The file is not changed by a failure, whatever its kind.
  ///
  /// A connection that only reads changes neither the file nor its WAL and journal, not even to recover them, and never
  /// checkpoints. Where this user may not write the file it creates nothing next to it; with no WAL there, the file is then
  /// read without locks, and a transaction during which a writer changed it fails with `busy`.
  ///
  /// - Throws: `cipherUnavailable`, `notFound`, `notAFile`, `otherNames` (of the WAL, its index or the journal),
  ///   `emptyFile`, `permissionDenied`, `readOnly`, `recoveryNeeded`, `notEncrypted`, `wrongKey`, `invalidRawKey` (the
  ///   same for a key that ``EncryptionKey/resemblesRawKey``),
  ///   `readableHeaderUnavailable` (on SQLCipher 3), `corrupt`, `busy`.
  public static func open(_ path: String, key: EncryptionKey, options: Options = Options()) throws -> Connection {
    try options.cipherSettings.check()
    let path = try FileSystem.absolute(path)
    let waiting = LockWait(path, timeout: options.busyTimeout)
    while true {
      do {
        return try openCurrent(path, key, options)
      } catch let error as DatabaseError where error.code == .fileReplaced {
        // Replaced while it was opened: the file that is there now is the one to open.
        guard waiting.mayRetry() else { throw LockWait.error(path, busy: error) }
      } catch let error as DatabaseError where error.code == .wrongKey && key.resemblesRawKey {
        throw DatabaseError.nearRawKey(path, error)
      }
    }
  }

  /// Opens the file that is at `path` now.
  ///
  /// - Throws: `fileReplaced` when another one was put there before this connection had its lock.
  private static func openCurrent(_ path: String, _ key: EncryptionKey, _ options: Options) throws -> Connection {
    try checkFile(path, for: options.access)
    if options.access == .readWrite { PathLock.removeAbandoned(path) }
    let files = SideFiles(path: path)
    try files.check(for: options.access)
    let reading = options.access == .readWrite ? .locking : try files.reading()
    let connection: Connection
    do {
      connection = try openUnderAnyGeneration(path, key, options, reading)
    } catch let error as DatabaseError where reading == .lockingOnly && error.isAboutFilesBeside {
      // An empty WAL that another connection left, or that this user may not read the index of.
      guard FileSystem.size(path + SideFiles.wal) == 0 else { throw files.needsWriter() }
      connection = try openUnderAnyGeneration(path, key, options, .immutable)
    }
    if connection.takesLocks, try connection.text("PRAGMA journal_mode") == "wal" { try files.checkOpened() }
    try connection.configure(options)
    return connection
  }

  /// The connection to a new, empty file at `path`, which exists and has no bytes.
  ///
  /// - Throws: `readableHeaderUnavailable`.
  static func openNew(_ path: String, key: EncryptionKey, format: FileFormat = .init()) throws -> Connection {
    try format.require(key, libraryVersion: libraryVersion())
    return try attempt(path, key, Options(), format, .locking)
  }

  /// A database in memory, without a key, for work that never comes to rest: nothing of it is ever in a file.
  public static func inMemory() throws -> Connection {
    let handle = try openHandle(":memory:", SQLITE_OPEN_READWRITE)
    let version = firstText(handle, "PRAGMA cipher_version") ?? ""
    let connection = Connection(
      handle: handle, path: ":memory:", cipher: FileFormat().cipher(libraryVersion: version))
    // Without this, sorting something large would go to a file.
    try connection.execute("PRAGMA temp_store = MEMORY")
    return connection
  }

  // MARK: Steps

  package static func checkFile(_ path: String, for access: Access) throws {
    var status = stat()
    guard stat(path, &status) == 0 else { throw FileSystem.error("open", path, errno) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw DatabaseError(.notAFile, "\(path) is not a regular file: give the path of a store")
    }
    // SQLite takes a file of one byte for an empty one as well (a workaround of its for an old Mac OS), and writes over it.
    guard status.st_size > 1 else {
      throw DatabaseError(
        .emptyFile, "\(path) holds no page and is not a store: remove it, then a new store can be made there")
    }
    guard Foundation.access(path, R_OK) == 0 else { throw FileSystem.error("read", path, errno) }
    guard access == .readWrite else { return }
    // SQLite would fall back to reading only, and say so at the first write.
    for place in [path, FileSystem.folder(of: path)] where Foundation.access(place, W_OK) != 0 {
      throw DatabaseError(.readOnly, "\(place) cannot be written by this user: check its mode and its owner")
    }
    // A second name is what a process leaves that was killed while it published the file.
    if status.st_nlink > 1 { NewFile.removeAbandoned(beside: path) }
  }

  /// Tries the library's own format, then the older ones: one derivation each, on a fresh connection each, for a failed
  /// read spoils a connection.
  private static func openUnderAnyGeneration(
    _ path: String, _ key: EncryptionKey, _ options: Options, _ reading: SideFiles.Reading
  ) throws -> Connection {
    do {
      return try attempt(path, key, options, nil, reading)
    } catch let error as DatabaseError where error.code == .wrongKey {
      if isPlainSQLite(path) {
        throw DatabaseError(
          .notEncrypted, "\(path) is not encrypted: run encrypt to adopt it into an encrypted store, or check the path",
          sqliteCode: error.sqliteCode)
      }
      let version = try libraryVersion()
      for generation in olderGenerations(than: version) {
        do {
          return try attempt(path, key, options, FileFormat(olderGeneration: generation), reading)
        } catch let error as DatabaseError where error.code == .wrongKey {
          continue
        }
      }
      throw readableHeaderError(path, key, libraryVersion: version) ?? error
    }
  }

  /// `PRAGMA cipher_compatibility` came with SQLCipher 4; a 3.x library takes it for an unknown pragma and does nothing.
  static func olderGenerations(than version: String) -> [Int] {
    let current = Cipher.generation(of: version)
    return current >= 4 ? (1..<current).reversed() : []
  }

  /// - Parameter format: nil is the library's own, with a readable header where the file has one that this key can go with.
  private static func attempt(
    _ path: String, _ key: EncryptionKey, _ options: Options, _ format: FileFormat?, _ reading: SideFiles.Reading
  ) throws -> Connection {
    let handle =
      switch reading {
      case .locking: try openHandle(path, options.access == .readWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY)
      case .lockingOnly: try openURI(path, "readonly_shm=1")
      case .immutable: try openImmutable(path)
      }
    var owner: Connection?
    do {
      let version = try proveCipher(handle)
      let format = format ?? .recognised(handle, key, libraryVersion: version)
      let connection = Connection(
        handle: handle, path: path, cipher: format.cipher(libraryVersion: version), access: options.access,
        takesLocks: reading != .immutable, busyTimeout: options.busyTimeout)
      owner = connection
      try connection.lockCurrentFile()
      try connection.give(key, options.cipherSettings)
      try connection.proveKey()
      return connection
    } catch {
      if let owner { owner.abandonUnproven() } else { sqlite3_close_v2(handle) }
      throw error
    }
  }

  /// Gives the key and what goes with it, before anything is read.
  func give(_ key: EncryptionKey, _ settings: Cipher.Settings) throws {
    let status = key.withUnsafeBytes { sqlite3_key_v2(handle, "main", $0.baseAddress, Int32($0.count)) }
    guard status == SQLITE_OK else { throw error(status) }
    Self.silenceLog(handle)
    try execute(cipher.format.pragmas())
    // After the generation, which sets both.
    if let size = settings.pageSize { try execute("PRAGMA cipher_page_size = \(size)") }
    if let rounds = settings.kdfIterations { try execute("PRAGMA kdf_iter = \(rounds)") }
  }

  /// Reads and decrypts the first page, so that a wrong key fails here and not at the first row.
  func proveKey() throws {
    do {
      _ = try integer("SELECT count(*) FROM sqlite_master")
    } catch let error as DatabaseError where cipher.hasReadableHeader && error.sqliteCode == SQLITE_ERROR {
      // SQLite finds its own header in the clear: a page that does not decrypt is not "no database" to it.
      throw DatabaseError(.wrongKey, DatabaseError.wrongKeyText(path), sqliteCode: error.sqliteCode)
    }
    markProven()
  }

  /// A connection that takes no lock and makes no file next to `path`, and takes the file for one that nobody changes.
  static func openImmutable(_ path: String) throws -> OpaquePointer { try openURI(path, "immutable=1") }

  private static func openURI(_ path: String, _ parameter: String) throws -> OpaquePointer {
    let allowed = CharacterSet(charactersIn: "/").union(.alphanumerics)
    guard let escaped = path.addingPercentEncoding(withAllowedCharacters: allowed) else {
      throw DatabaseError(.invalidArgument, "the path \(path) has no form as a URI")
    }
    // With an empty authority, which a path that begins with two slashes would otherwise be taken for.
    return try openHandle("file://\(escaped)?\(parameter)", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
  }

  static func openHandle(_ path: String, _ flags: Int32) throws -> OpaquePointer {
    PlatformCrypto.prepare()
    var handle: OpaquePointer?
    // NOMUTEX: a connection is used by one thread at a time, so its locks would protect nothing.
    let status = sqlite3_open_v2(path, &handle, flags | SQLITE_OPEN_NOMUTEX, nil)
    guard status == SQLITE_OK, let handle else {
      defer { sqlite3_close_v2(handle) }
      throw DatabaseError(status: status, handle: handle, path: path, isProven: false)
    }
    sqlite3_extended_result_codes(handle, 1)
    // A store's own are for rows of other programs, and a foreign one does not run on what is written here.
    _ = csqlcipher_disable_triggers(handle)
    return handle
  }

  /// Silences SQLCipher's own log, then asks for the cipher's version: a plain SQLite answers with no row, and would
  /// take the key without a word and write plaintext.
  static func proveCipher(_ handle: OpaquePointer) throws -> String {
    silenceLog(handle)
    guard let version = firstText(handle, "PRAGMA cipher_version") else {
      throw DatabaseError(
        .cipherUnavailable,
        "the SQLite library in this process does not encrypt: link SQLCipher, and no other SQLite before it")
    }
    return version
  }

  /// Before the key is given, and after: the first key of a process sets SQLCipher's log up anew.
  static func silenceLog(_ handle: OpaquePointer) {
    sqlite3_exec(handle, "PRAGMA cipher_log_level = NONE", nil, nil, nil)
  }

  /// The version of the SQLCipher that this process has.
  ///
  /// - Throws: `cipherUnavailable`.
  public static func libraryVersion() throws -> String {
    let handle = try openHandle(":memory:", SQLITE_OPEN_READWRITE)
    defer { sqlite3_close_v2(handle) }
    return try proveCipher(handle)
  }

  /// Whether the whole schema can be read without a key.
  ///
  /// Not judged by the file's first bytes, for an encrypted file with a readable header starts alike.
  static func isPlainSQLite(_ path: String) -> Bool {
    guard let handle = try? openImmutable(path) else { return false }
    defer { sqlite3_close_v2(handle) }
    return firstText(handle, "SELECT count(*) || ' ' || total(length(name) + length(sql)) FROM sqlite_master") != nil
  }

  private static func firstText(_ handle: OpaquePointer, _ sql: String) -> String? {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, sqlite3_step(statement) == SQLITE_ROW,
      let text = sqlite3_column_text(statement, 0)
    else { return nil }
    return String(cString: text)
  }

  // MARK: Settings of an opened store

  /// The log is truncated to this size, in bytes, whenever it starts anew.
  private static let largestLog = 4 << 20

  private func configure(_ options: Options) throws {
    // fullfsync: on Apple's systems fsync alone does not reach the medium; elsewhere these two change nothing.
    try execute(
      """
      PRAGMA temp_store = MEMORY;
      PRAGMA secure_delete = ON;
      PRAGMA trusted_schema = OFF;
      PRAGMA fullfsync = ON;
      PRAGMA checkpoint_fullfsync = ON;
      PRAGMA synchronous = \(options.synchronous.rawValue);
      PRAGMA journal_size_limit = \(Self.largestLog);
      """)
    if options.access == .readOnly { try execute("PRAGMA query_only = ON") }
  }

  /// Without it the store works too, only slower: another connection in the way is no reason to fail.
  func useWriteAheadLog() throws {
    guard try text("PRAGMA journal_mode") != "wal" else { return }
    try lockCurrentFile()
    do {
      try execute("PRAGMA journal_mode = WAL")
    } catch let error as DatabaseError where error.code == .busy {}
  }
}

extension DatabaseError {
  /// SQLite could not make the files that it needs beside the database.
  fileprivate var isAboutFilesBeside: Bool { code == .permissionDenied || code == .readOnly }
}
