import Foundation

/// Puts a verified copy in the place of a file that no other connection can use while that happens.
///
/// The copy is built in a temporary file, read back under its key, synced, and renamed over the file, whose lock is held
/// until then: at every moment the one or the other is there, complete. The caller holds the ``PathLock`` of the path from
/// before it opens the file until this returns, so that two replacements come one after the other.
struct FileReplacement {
  /// What the file that is replaced is called in messages, such as "a rotation of …".
  let what: String
  /// What the copy opens with.
  let key: EncryptionKey
  let busyTimeout: Double?
  /// Asked until the copy takes the file's place; true ends the work with `cancelled`.
  let isInterrupted: () -> Bool

  /// What became of a replacement.
  struct Outcome {
    /// The copy as it was read back.
    let copy: FileState
    /// The time that reading and comparing took.
    let provingSeconds: Double
  }

  /// - Parameters:
  ///   - connection: the file that is replaced; closed on return, whatever happens.
  ///   - counts: the rows that the copy is to hold, asked once the file is locked.
  ///   - build: makes the copy at the path that it is given, a file of no bytes.
  /// - Throws: `busy`, `otherNames`, `copyFailed`, `cancelled`, and what the others throw: the file is as it was.
  func run(
    _ connection: Connection, counts: (Connection) throws -> TableCounts, build: (Connection, String) throws -> Void
  ) throws -> Outcome {
    let path = connection.path
    defer { try? connection.close() }
    let clock = Clock()
    guard try FileStatus(path)?.names ?? 1 == 1 else {
      throw DatabaseError(
        .otherNames,
        "\(path) has a second name (a hard link), which would keep the file as it is now: remove it, or make it a copy of "
          + "its own")
    }
    let hadLog = try connection.text("PRAGMA journal_mode") == "wal"
    do {
      let expected = try naming(path) {
        try connection.acquireExclusiveAccess()
        return try counts(connection)
      }
      try stopIfInterrupted()
      let locked = clock.seconds
      let outcome = try NewFile.withFileAside(beside: path) { aside in
        try build(connection, aside)
        let built = clock.seconds
        let copy = try FileState.ofCopy(aside, for: path, key, busyTimeout, expecting: expected, hasLog: hadLog)
        let proving = clock.seconds - built
        try FileSystem.takeOwner(of: path, for: aside, keepingMode: true)
        try FileSystem.sync(aside)
        try stopIfInterrupted()
        guard !connection.isFileReplaced else {
          throw DatabaseError(
            .fileReplaced, "another file was put at \(path) during \(what), and was not changed: try again")
        }
        guard rename(aside, path) == 0 else { throw FileSystem.error("replace", path, errno) }
        return Outcome(copy: copy, provingSeconds: locked + proving)
      }
      // The lock was held until now.
      try? connection.closeReplaced()
      return outcome
    } catch {
      // The file is still there, and goes back into the mode that it was in.
      if hadLog { try? connection.useWriteAheadLog() }
      throw error
    }
  }

  func stopIfInterrupted() throws {
    if isInterrupted() {
      throw DatabaseError(.cancelled, "\(what) was interrupted; nothing was changed")
    }
  }

  /// Calls `body`, whose `busy` gets the remedy.
  func naming<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as DatabaseError where error.code == .busy {
      throw DatabaseError(
        .busy, "\(path) is in use by another program, and was not changed: close what has it open, and try again",
        sqliteCode: error.sqliteCode)
    }
  }
}

extension DatabaseError.Code {
  /// A copy did not come out as it should; the file it was to replace stands.
  public static let copyFailed = Self(rawValue: "copyFailed")
}
