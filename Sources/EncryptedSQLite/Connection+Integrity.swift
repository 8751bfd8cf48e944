import CSQLCipher
import Foundation

extension Connection {
  /// Whether the file's pages have MACs: the format of SQLCipher 1 has none.
  public var hasPageMACs: Bool { cipher.generation >= 2 }

  /// Whether page MACs can be checked one by one: SQLCipher 4 and later, and only while no page waits in the
  /// write-ahead log, for the check reads the main file alone.
  public var canCheckPageMACs: Bool {
    hasPageMACs && Cipher.generation(of: cipher.libraryVersion) >= 4 && FileSystem.size(path + "-wal") == 0
  }

  /// The pages whose MAC does not fit, as SQLCipher words them; empty when all do.
  ///
  /// - Parameter limit: how many are named at most.
  public func failedPageMACs(limit: Int = 20) throws -> [String] {
    try firstColumn("PRAGMA cipher_integrity_check", limit: limit)
  }

  /// Reads every page that belongs to a table or an index, and the indexes against their tables.
  ///
  /// - Parameter isInterrupted: true ends the work with `cancelled`.
  /// - Returns: at most `limit` faults as SQLite words them; empty when there is none.
  /// - Throws: `corrupt` when damage keeps even the check from going on.
  public func integrityFaults(limit: Int = 20, isInterrupted: () -> Bool = { false }) throws -> [String] {
    try withBoundedWork(isInterrupted) {
      try firstColumn("PRAGMA integrity_check(\(limit))", limit: limit).filter { $0 != "ok" }
    }
  }

  public var pageCount: Int {
    get throws { Int(try integer("PRAGMA page_count") ?? 0) }
  }

  /// In bytes.
  package var pageSize: Int {
    get throws { Int(try integer("PRAGMA page_size") ?? 0) }
  }

  private func firstColumn(_ sql: String, limit: Int) throws -> [String] {
    try withStatement(sql) { row in
      var texts: [String] = []
      while texts.count < limit, try row.step() { texts.append(row.string(at: 0)) }
      return texts
    }
  }

  // MARK: Every page

  /// Reads each page of the file, the free ones too, from the log where it is there, and has the codec decrypt it and
  /// check its MAC.
  ///
  /// The backup API reads page by page, whatever a page is for. What it writes goes to the null device, encrypted under
  /// a key that nobody knows; memory stays flat.
  ///
  /// - Parameter limit: how many pages are looked for at most; for each the file is read once more.
  /// - Returns: the numbers of pages that cannot be read, and whether all pages were looked at.
  public func unreadablePages(limit: Int = 20) throws -> (pages: [Int], isComplete: Bool) {
    var pages: [Int] = []
    let passing = PagesPassedOver(Self.file(of: handle), pageSize: try pageSize)
    defer {
      passing.end()
      // No zeros stay in the cache.
      sqlite3_db_release_memory(handle)
    }
    while let page = try firstUnreadablePage() {
      // In the log a page cannot be passed over.
      guard pages.last != page else { return (pages, false) }
      pages.append(page)
      guard pages.count < limit, passing.add(page) else { return (pages, false) }
    }
    return (pages, true)
  }

  private func firstUnreadablePage() throws -> Int? {
    // Not by readTransaction, which ends with an error where a page did not decrypt.
    try execute("BEGIN")
    defer { try? execute("ROLLBACK") }
    // The pager then has its lock, and shows the codec's error at the next page.
    try requirePagesDecrypted()
    let sink = try openSink()
    defer { sqlite3_close_v2(sink) }
    guard let copy = sqlite3_backup_init(sink, "main", handle, "main") else {
      throw DatabaseError(status: sqlite3_errcode(sink), handle: sink, path: path, isProven: true)
    }
    defer { sqlite3_backup_finish(copy) }
    var page = 0
    while true {
      page += 1
      let status = sqlite3_backup_step(copy, 1)
      guard [SQLITE_OK, SQLITE_DONE].contains(status), (try? requirePagesDecrypted()) != nil else { return page }
      if status == SQLITE_DONE { return nil }
    }
  }

  /// Keyed, for without a key SQLCipher 4 refuses and SQLCipher 3 would write the pages in plaintext.
  private func openSink() throws -> OpaquePointer {
    let size = try pageSize
    // Without locks: those on the null device would be shared with every other process.
    let sink = try Self.openHandle("file:/dev/null?nolock=1", SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI)
    _ = try? Self.proveCipher(sink)
    let status = EncryptionKey.random().withUnsafeBytes {
      sqlite3_key_v2(sink, "main", $0.baseAddress, Int32($0.count))
    }
    // What goes nowhere needs no readable header.
    let format = FileFormat(olderGeneration: cipher.format.olderGeneration).pragmas()
    let settings = """
      PRAGMA cipher_log_level = NONE; \(format)
      PRAGMA cipher_page_size = \(size); PRAGMA page_size = \(size);
      PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
      """
    guard status == SQLITE_OK, sqlite3_exec(sink, settings, nil, nil, nil) == SQLITE_OK else {
      defer { sqlite3_close_v2(sink) }
      throw DatabaseError(status: sqlite3_errcode(sink), handle: sink, path: path, isProven: true)
    }
    return sink
  }

  /// How many bytes the main file has beyond its pages, and how many of its pages consist of zeros, which SQLCipher
  /// takes for pages that were never written and does not authenticate. Only while no page waits in the log.
  ///
  /// Through SQLite's own descriptor: closing another one on the file would free this process's locks on it.
  package func rawFaults() throws -> (excess: Int, zeroPages: Int) {
    try readTransaction {
      try requirePagesDecrypted()
      let size = try pageSize
      let count = try pageCount
      guard let file = Self.file(of: handle), let methods = file.pointee.pMethods, size > 0 else { return (0, 0) }
      var length: Int64 = 0
      _ = methods.pointee.xFileSize(file, &length)
      /// Where SQLite's locks are: this page is never written.
      let lockPage = 0x4000_0000 / size + 1
      var page = [UInt8](repeating: 0, count: size)
      var zeroPages = 0
      for number in 1...max(1, count) where number != lockPage {
        let status = methods.pointee.xRead(file, &page, Int32(size), Int64((number - 1) * size))
        if status == SQLITE_OK, page.allSatisfy({ $0 == 0 }) { zeroPages += 1 }
      }
      return (Int(length) - count * size, zeroPages)
    }
  }

  // MARK: Bounds

  /// In instructions of SQLite's virtual machine: after so many it is asked whether to go on.
  static let stepsPerQuestion: Int32 = 1_000_000

  /// How often a statement may be asked that reads a sound file of this size.
  static func mostQuestions(bytes: Int) -> Int {
    let stepsPerByte = 100
    return 10 + bytes * stepsPerByte / Int(stepsPerQuestion)
  }

  /// Ends a statement in `body` that takes more steps than a sound file of this size can need: in a forged file the tree
  /// of a table may branch into the same pages over and over.
  ///
  /// A `count(*)` without a condition is one step, however long it takes: here it is to be written with `WHERE 1`.
  ///
  /// - Parameter isInterrupted: true ends the statement too.
  /// - Throws: `corrupt` when it took too many, and what `body` throws, which is `cancelled` from a statement that was
  ///   interrupted.
  package func withBoundedWork<Result>(
    _ isInterrupted: () -> Bool = { false }, _ body: () throws -> Result
  ) throws -> Result {
    var questionsLeft = Self.mostQuestions(bytes: try byteCount)
    do {
      return try withInterruption(every: Self.stepsPerQuestion) {
        questionsLeft -= 1
        return questionsLeft < 0 || isInterrupted()
      } during: {
        try body()
      }
    } catch let error as DatabaseError where error.code == .cancelled && questionsLeft < 0 {
      throw DatabaseError(
        .corrupt,
        "\(path) is damaged (reading it does not come to an end): restore a backup, or salvage what it still holds")
    }
  }

  /// ``readTransaction(_:)`` with ``withBoundedWork(_:_:)``.
  package func boundedReadTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    try withBoundedWork { try readTransaction(body) }
  }
}
