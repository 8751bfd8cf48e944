import CSQLCipher

/// One connection to an encrypted database, its key proven.
///
/// Not `Sendable`: a connection stays on the executor that opened it (``ConnectionQueue``).
public final class Connection {
  let handle: OpaquePointer
  /// The file's path, from the root on and without symbolic links.
  public let path: String
  /// Which SQLCipher reads the file, and in which generation's format.
  public let cipher: Cipher
  /// Whether this connection may write; one that only reads never checkpoints.
  let access: Access
  /// Whether SQLite locks the file: not one that it takes for immutable.
  let takesLocks: Bool
  /// How this connection waits for locks.
  let waiting: LockWait
  /// What the file was like when it was opened without locks.
  private let stamp: FileStamp?
  /// Set once a page has been read under the key: from then on NOTADB is news about the file, not about the key.
  private(set) var isProven = false
  private var isOpen = true
  private var statements: [String: Statement] = [:]
  /// The innermost of ``withInterruption(every:_:during:)``.
  var interruption: Interruption?

  /// Takes over `handle`, which ``close()`` or the last release closes.
  init(
    handle: OpaquePointer, path: String, cipher: Cipher, access: Access = .readWrite, takesLocks: Bool = true,
    busyTimeout: Double = 0
  ) {
    self.handle = handle
    self.path = path
    self.cipher = cipher
    self.access = access
    self.takesLocks = takesLocks
    stamp = takesLocks ? nil : FileStamp(path)
    waiting = LockWait(path, timeout: busyTimeout)
    waiting.install(on: handle)
  }

  deinit {
    statements = [:]
    if isOpen { closeHandle() }
  }

  func markProven() { isProven = true }

  // MARK: Statements

  /// Calls `body` with the prepared statement for `sql`, kept for the next time, and resets it afterwards.
  ///
  /// `sql` is fixed text of the program; values are bound, never spliced in.
  public func withStatement<Result>(_ sql: String, _ body: (Statement) throws -> Result) throws -> Result {
    let statement: Statement
    if let cached = statements[sql], !cached.isInUse {
      statement = cached
    } else {
      statement = try Statement(sql, on: self)
      if statements[sql] == nil { statements[sql] = statement }
    }
    statement.isInUse = true
    defer {
      statement.reset()
      statement.isInUse = false
    }
    return try body(statement)
  }

  /// Runs one or more statements that take no values; rows are passed over.
  public func execute(_ sql: String) throws {
    let status = sqlite3_exec(handle, sql, nil, nil, nil)
    guard status == SQLITE_OK else { throw error(status) }
  }

  /// Runs one statement with `values` for its parameters, for work that is not done row by row.
  public func run(_ sql: String, _ values: SQLValue...) throws {
    try withStatement(sql) { statement in
      statement.bind(values)
      try statement.run()
    }
  }

  /// Calls `body` with each row that `sql` gives.
  public func forEachRow(_ sql: String, _ values: SQLValue..., body: (Statement) throws -> Void) throws {
    try withStatement(sql) { statement in
      statement.bind(values)
      while try statement.step() { try body(statement) }
    }
  }

  /// What `read` makes of the first row that `sql` gives, nil when there is none.
  public func firstRow<Result>(
    _ sql: String, _ values: SQLValue..., read: (Statement) throws -> Result
  ) throws -> Result? {
    try withStatement(sql) { statement in
      statement.bind(values)
      return try statement.step() ? read(statement) : nil
    }
  }

  /// The integer in the first column of the first row that `sql` gives.
  public func integer(_ sql: String, _ values: SQLValue...) throws -> Int64? {
    try withStatement(sql) { statement in
      statement.bind(values)
      return try statement.step() && !statement.isNull(at: 0) ? statement.int64(at: 0) : nil
    }
  }

  /// The text in the first column of the first row that `sql` gives.
  public func text(_ sql: String, _ values: SQLValue...) throws -> String? {
    try withStatement(sql) { statement in
      statement.bind(values)
      return try statement.step() && !statement.isNull(at: 0) ? statement.string(at: 0) : nil
    }
  }

  public var changes: Int { Int(sqlite3_changes(handle)) }

  public var lastInsertedRowID: Int64 { sqlite3_last_insert_rowid(handle) }

  // MARK: Transactions

  public var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Runs `body` in a transaction that holds the write lock from its start, so that what it reads stays true until it
  /// writes (a transaction begun deferred is refused at its first write instead of waiting).
  ///
  /// - Throws: what `body` throws, after a rollback; `busy`, `diskFull` and the like from beginning and committing.
  public func writeTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    try transaction("BEGIN IMMEDIATE", body)
  }

  /// Runs `body` on one unchanging view of the database.
  public func readTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    try transaction("BEGIN DEFERRED") {
      // SQLite takes its lock, and fixes the view, at the first read.
      try requirePagesDecrypted()
      return try body()
    }
  }

  private func transaction<Result>(_ begin: String, _ body: () throws -> Result) throws -> Result {
    precondition(!isInTransaction, "a transaction is open on this connection: transactions do not nest")
    try lockCurrentFile()
    try run(begin)
    do {
      let result = try body()
      try requirePagesDecrypted()
      try requireUnchanged()
      try run("COMMIT")
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// That every page which this transaction has read did decrypt.
  ///
  /// SQLCipher gives a page whose MAC fails as one of zeros, and an error only for the pages after it. Where it was the
  /// last of a value's pages, the value has been read without a word, with zeros in it.
  ///
  /// - Throws: `corrupt`.
  func requirePagesDecrypted() throws { _ = try integer("SELECT rowid FROM sqlite_master LIMIT 1") }

  /// That a file which is read without locks is what it was: a writer may have come since.
  ///
  /// - Throws: `busy`.
  private func requireUnchanged() throws {
    guard let stamp, stamp != FileStamp(path) else { return }
    throw DatabaseError(
      .busy, "\(path) was changed while this user, who may not lock it, read it: run this again, or as the file's owner"
    )
  }

  /// Ends the transaction, whatever cancels the work meanwhile.
  private func rollBack() {
    // SQLite has rolled back by itself after a full disk or an I/O error. Work is cancelled at most once, and so is the
    // roll-back; but an interrupt lasts for as long as any statement is in the middle of its rows.
    for _ in 1...2 where isInTransaction {
      var statement = sqlite3_next_stmt(handle, nil)
      while let unfinished = statement {
        sqlite3_reset(unfinished)
        statement = sqlite3_next_stmt(handle, unfinished)
      }
      try? execute("ROLLBACK")
    }
  }

  /// Calls `body` with another value of `PRAGMA synchronous`, and sets it back.
  package func withSynchronous<Result>(_ level: String, _ body: () throws -> Result) throws -> Result {
    let before = try integer("PRAGMA synchronous") ?? 2
    try execute("PRAGMA synchronous = \(level)")
    defer { try? execute("PRAGMA synchronous = \(before)") }
    return try body()
  }

  /// Writes the log's pages into the main file, on the medium on return, and empties the log.
  ///
  /// - Throws: `busy` when another connection still reads from the log.
  public func foldLogIn() throws {
    let status = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    guard status == SQLITE_OK else { throw error(status) }
  }

  // MARK: Closing

  /// Closes the connection. One that may write first checkpoints the WAL, where no other connection is in the way.
  ///
  /// - Throws: `busy` when a statement is still in use; the connection then stays open.
  public func close() throws {
    guard isOpen else { return }
    statements = [:]
    guard !isFileReplaced else {
      isOpen = false
      closeHandle()
      return
    }
    // The busy handler off: a reader elsewhere may keep its view of the WAL as long as it likes.
    sqlite3_busy_timeout(handle, 0)
    if isProven, access == .readWrite {
      sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    }
    let status = sqlite3_close(handle)
    guard status == SQLITE_OK else { throw error(status) }
    isOpen = false
    removeEmptyWAL()
  }

  /// Closes a connection that was in rollback-journal mode when this process put another file in its place: it has no WAL
  /// open whose name could now be that of the newer file's.
  package func closeReplaced() throws {
    statements = [:]
    let status = sqlite3_close(handle)
    guard status == SQLITE_OK else { throw error(status) }
    isOpen = false
  }

  /// Closes this connection without any more work on the file. A transaction that is open is rolled back.
  func abandon() {
    finalizeStatements()
    sqlite3_close_v2(handle)
    isOpen = false
  }

  func finalizeStatements() { statements = [:] }

  // MARK: The file

  /// The error for a result code of SQLite on this connection.
  func error(_ status: Int32) -> DatabaseError {
    let error = DatabaseError(status: status, handle: handle, path: path, isProven: isProven)
    return error.code == .busy ? LockWait.error(path, busy: error) : error
  }
}
