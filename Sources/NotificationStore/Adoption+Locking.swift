import EncryptedSQLite
import Foundation

extension Adoption {
  /// What SQLite keeps beside a file and what may hold rows: the write-ahead log, and the rollback journal.
  static let logs = ["-wal", "-journal"]

  /// Calls `body` with the rows of the source, which nobody else can use meanwhile, and whose logs are folded in and
  /// gone. When `body` returns, another file stands at the source's path, or none.
  func withLockedSource<Result>(_ body: (PlaintextRows) throws -> Result) throws -> Result {
    // A journal that is rolled back, and a log that is folded in, are deleted by SQLite; their blocks hold plaintext.
    try setLogAside("-journal")
    try retrying { try inspect() }
    let connection = try retrying { try Connection.openPlaintext(source, .readWrite) }
    let result: Result
    do {
      try retrying {
        // From the first read on the log stays in its place until this connection leaves it.
        _ = try connection.integer("SELECT count(*) FROM sqlite_master")
      }
      try setLogAside("-wal")
      passing(.logsSetAside)
      try retrying { try lock(connection) }
      guard !connection.isFileReplaced else {
        throw DatabaseError(.fileReplaced, "another file was put at \(source) meanwhile: try again")
      }
      passing(.locked)
      try removeSecondNamesOfLogs()
      // What is still there was left by a journal mode that keeps its file, and is of no more use.
      for log in Self.logs { try FileSystem.shred(source + log) }
      try FileSystem.remove(source + "-shm")
      passing(.logsRemoved)
      result = try body(PlaintextRows(connection))
    } catch {
      if connection.isInTransaction { try? connection.execute("ROLLBACK") }
      try? connection.close()
      throw error
    }
    // The lock was held until now.
    try connection.closeReplaced()
    return result
  }

  /// Everything that can be known before anything is changed.
  private func inspect() throws {
    let connection = try Connection.openPlaintext(source, .readOnly)
    do {
      _ = try cursors(for: PlaintextRows(connection))
      let faults = try connection.integrityFaults(limit: 1)
      guard faults.isEmpty else { throw damaged(source, faults[0]) }
    } catch {
      try? connection.close()
      throw error
    }
    try connection.close()
  }

  /// Calls `body`, which reads the plaintext file at `path`: what it meets has nothing to do with a key.
  func naming<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as DatabaseError where error.code == .wrongKey {
      throw damaged(path, "its first page is not one of SQLite's")
    }
  }

  private func damaged(_ path: String, _ detail: String) -> DatabaseError {
    DatabaseError(
      .corrupt, "\(path) is damaged (\(detail)) and is left as it is: restore a backup, or salvage what it still holds")
  }

  /// Leaves the write-ahead log's mode, which another user of the log refuses, and takes the lock that keeps everybody out.
  private func lock(_ connection: Connection) throws {
    _ = try connection.text("PRAGMA journal_mode = DELETE")
    try connection.execute("BEGIN EXCLUSIVE")
    // With a log the lock would let readers in. Somebody has brought it back in between.
    guard try connection.text("PRAGMA journal_mode") != "wal" else {
      try connection.execute("ROLLBACK")
      throw DatabaseError(.busy, source)
    }
  }

  /// Calls `body` until nobody is in its way, or the time is over.
  private func retrying<Result>(_ body: () throws -> Result) throws -> Result {
    while true {
      do {
        return try naming(source, body)
      } catch let error as DatabaseError where error.code == .busy {
        guard Date() < deadline else {
          throw DatabaseError(
            .busy,
            "\(source) is in use by another program: close the app or program that has it open, and try again; it is left "
              + "as it was", sqliteCode: error.sqliteCode)
        }
        usleep(20_000)
      }
    }
  }

  /// Gives a log of the source a second name, by which it can be overwritten once SQLite has deleted it.
  private func setLogAside(_ log: String) throws {
    guard let status = try FileStatus(source + log) else { return }
    let name = leftover + log
    if let old = try FileStatus(name) {
      guard !old.isSameFile(as: status) else { return }
      try FileSystem.shred(name)
    }
    guard link(source + log, name) == 0 else {
      if errno == ENOENT { return }
      throw FileSystem.error("make", name, errno)
    }
    try FileSystem.syncFolder(of: name)
  }

  /// Takes the second name of a log away that is in use; overwrites one that is not.
  func removeSecondNamesOfLogs() throws {
    let names = try Self.logs.filter { try exists(leftover + $0) }
    guard !names.isEmpty else { return }
    // Deleted logs must not come back with a power cut.
    try FileSystem.syncFolder(of: leftover)
    for log in names {
      guard let status = try FileStatus(leftover + log) else { continue }
      if status.isSameFile(as: try FileStatus(source + log)) {
        try FileSystem.remove(leftover + log)
      } else {
        try FileSystem.shred(leftover + log)
      }
    }
    try FileSystem.syncFolder(of: leftover)
  }
}
