import CSQLCipher
import Foundation

extension Connection {
  /// Encrypts every page anew under `key`, in one transaction, and closes this connection whatever happens.
  ///
  /// It says nothing of the outcome: `sqlite3_rekey` reports success on a busy file, a full disk and a failed read, and
  /// the handle already writes under the new key then. So no other statement runs on it afterwards, and a fresh
  /// connection decides which key is in force. A transaction that failed is rolled back by closing.
  ///
  /// - Parameters:
  ///   - key: brings no salt of its own, for a kill would leave pages of one salt behind the other.
  ///   - whenLocked: called with the write lock held, before anything changes.
  /// - Returns: the error that SQLite gave, as a hint; and whether the write-ahead log, if there is one, is folded in.
  /// - Throws: `busy`, and what `whenLocked` throws; nothing was changed.
  func rekey(
    to key: EncryptionKey, whenLocked: (Connection) throws -> Void
  ) throws -> (hint: DatabaseError?, isLogFoldedIn: Bool) {
    precondition(key.kind != .rawKeyWithSalt, "a key with a salt goes through a copy")
    do {
      // A commit that has returned survives a power cut: without it a rollback journal's removal is not synced, and it
      // would bring the old key back.
      try execute("PRAGMA synchronous = EXTRA")
      let hasLog = try text("PRAGMA journal_mode") == "wal"
      try lockCurrentFile()
      try execute("BEGIN EXCLUSIVE")
      try whenLocked(self)
      finalizeStatements()
      let rekeyed = key.withUnsafeBytes { sqlite3_rekey_v2(handle, "main", $0.baseAddress, Int32($0.count)) }
      // It has committed by itself, and then this hook is not called. Where that failed, a second try must not succeed:
      // SQLite would continue the checksums of the first try's frames, and recovery from the WAL, once no process has the
      // file open, would reject all frames from there on.
      sqlite3_commit_hook(handle, { _ in 1 }, nil)
      let committed = sqlite3_exec(handle, "COMMIT", nil, nil, nil)
      let hint = [rekeyed, committed].first { $0 != SQLITE_OK }.map { reason($0) }
      let foldedIn =
        !hasLog || sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil) == SQLITE_OK
      abandon()
      return (hint, foldedIn)
    } catch {
      abandon()
      throw error
    }
  }

  /// Why the transaction was not committed: the system's error for its last read or write, if there was one.
  private func reason(_ status: Int32) -> DatabaseError {
    switch sqlite3_system_errno(handle) {
    case 0: error(status)
    case ENOSPC, EDQUOT: error(SQLITE_FULL)
    default: error(SQLITE_IOERR)
    }
  }

  /// Takes the lock that keeps every other connection out of the file, and holds it until this one closes.
  ///
  /// Leaving WAL mode is refused while another connection has the file open in it; an idle connection in rollback-journal
  /// mode holds no lock, and finds another file at its next call.
  ///
  /// - Throws: `busy`; the file is unchanged, but for its journal mode.
  package func acquireExclusiveAccess() throws {
    try lockCurrentFile()
    guard try text("PRAGMA journal_mode = DELETE") == "delete" else { throw error(SQLITE_BUSY) }
    // In this mode the lock of a transaction is kept when it ends. Not before the journal mode: its change would leave a
    // journal, for the next file at this path to be rolled back by.
    _ = try text("PRAGMA locking_mode = EXCLUSIVE")
    try lockCurrentFile()
    try execute("BEGIN EXCLUSIVE; COMMIT")
    // Another connection has brought the WAL back in between, and with it this lock would let others in.
    guard try text("PRAGMA journal_mode") == "delete" else { throw error(SQLITE_BUSY) }
  }

  /// Copies schema and rows, without the free pages between them, to the new, empty file at `aside` under `key`.
  ///
  /// - Parameter format: the copy's.
  ///
  /// Tables keep their rows' ids where they have a column for them, and their AUTOINCREMENT counters.
  ///
  /// - Throws: `readableHeaderUnavailable`; `cancelled` when `isInterrupted` says so, which is asked every few milliseconds.
  func export(
    to aside: String, key: EncryptionKey, format: FileFormat, isInterrupted: () -> Bool
  ) throws {
    try format.require(key, libraryVersion: cipher.libraryVersion)
    try withInterruption(every: 10_000, isInterrupted) {
      try attach(aside, key, format)
      do {
        // Nobody else knows the file, and an unfinished one is thrown away.
        try execute("PRAGMA target.journal_mode = OFF; PRAGMA target.synchronous = OFF")
        try execute("BEGIN; SELECT sqlcipher_export('target'); COMMIT")
        // Numbers of the file's header, which an export leaves out.
        for number in ["user_version", "application_id"] {
          try execute("PRAGMA target.\(number) = \(try integer("PRAGMA main.\(number)") ?? 0)")
        }
        finalizeStatements()
        try execute("DETACH target")
      } catch {
        if isInTransaction { try? execute("ROLLBACK") }
        // An export tells of every end as of a mistake in SQL.
        guard !isInterrupted() else {
          throw DatabaseError(.cancelled, "the copy of \(path) was interrupted; \(path) is as it was")
        }
        throw error
      }
    }
  }

  private func attach(_ aside: String, _ key: EncryptionKey, _ format: FileFormat) throws {
    try withStatement("ATTACH DATABASE ? AS target KEY ?") { statement in
      statement.bind(aside, at: 1)
      key.withUnsafeBytes { statement.bind(blob: $0, at: 2) }
      try statement.run()
    }
    try execute(format.pragmas("target"))
  }
}
