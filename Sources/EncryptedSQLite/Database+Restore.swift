import Foundation

extension Database {
  /// Puts a copy of a backup at `path`, in place of the file that may be there, for which nobody else may have that open.
  ///
  /// The backup is proved before anything is changed, and the copy read back before it takes its place. It has a readable
  /// header where the file at `path` has one; where none is there, where the backup has.
  ///
  /// - Parameters:
  ///   - key: the key of the file at `path`, which the copy gets as well.
  ///   - backupKey: the backup's key; nil means the same.
  ///   - check: called with the backup, opened for reading; throws when it is not to be restored.
  /// - Throws: `corrupt` and what opening throws, for the backup and for a file at `path` that does not open under `key`;
  ///   `busy`, `otherNames`, `diskFull`, `copyFailed`, `cancelled`, `readableHeaderUnavailable`. What is at `path` is as it was.
  public static func restore(
    _ path: String, key: EncryptionKey, from backup: String, backupKey: EncryptionKey? = nil,
    busyTimeout: Double? = nil,
    isInterrupted: @escaping () -> Bool = { false }, check: (Connection) throws -> Void = { _ in }
  ) throws -> BackupReport {
    let path = try FileSystem.absolute(path)
    // Where nothing is yet, the key of the store is chosen here, unless the backup has it.
    if let backupKey, backupKey != key, try FileStatus(path) == nil { try key.requireChosen() }
    let source = try Connection.open(
      backup, key: backupKey ?? key, options: .init(access: .readOnly, busyTimeout: busyTimeout))
    defer { try? source.close() }
    guard source.path != path else {
      throw DatabaseError(.invalidArgument, "\(path) cannot be restored from itself: give the backup's path")
    }
    return try source.readTransaction {
      try source.requireSound()
      try check(source)
      let counts = try TableCounts(source)
      try FileSystem.requireSpace(try source.byteCount, beside: path, for: "restoring \(path)")
      let build = { (aside: String, hasReadableHeader: Bool) in
        var format = source.cipher.format
        format.hasReadableHeader = hasReadableHeader
        try source.backUp(to: aside, key: key, format: format) { _ in !isInterrupted() }
      }
      let state =
        try FileStatus(path) == nil
        ? publish(path, key, counts, busyTimeout) { try build($0, source.cipher.hasReadableHeader) }
        : replace(path, key, counts, busyTimeout, isInterrupted, build)
      try FileSystem.syncInPlace(path)
      return BackupReport(path: path, pages: state.pages, generation: state.generation, counts: state.counts.counts)
    }
  }

  private static func publish(
    _ path: String, _ key: EncryptionKey, _ counts: TableCounts, _ busyTimeout: Double?,
    _ build: (String) throws -> Void
  ) throws -> FileState {
    try NewFile.make(path) { aside in
      try build(aside)
      return try FileState.ofCopy(aside, for: path, key, busyTimeout, expecting: counts)
    }
  }

  private static func replace(
    _ path: String, _ key: EncryptionKey, _ counts: TableCounts, _ busyTimeout: Double?,
    _ isInterrupted: @escaping () -> Bool, _ build: (String, Bool) throws -> Void
  ) throws -> FileState {
    let lock = try PathLock(path, timeout: busyTimeout)
    defer { lock.release() }
    let present: Connection
    do {
      present = try Connection.open(path, key: key, options: .init(busyTimeout: busyTimeout))
    } catch let error as DatabaseError {
      throw DatabaseError(
        error.code,
        "\(error.message). It stands where the backup is to be restored, and was not changed: move it away first",
        sqliteCode: error.sqliteCode)
    }
    return try FileReplacement(
      what: "restoring \(path)", key: key, busyTimeout: busyTimeout, isInterrupted: isInterrupted
    ).run(present) { _ in
      counts
    } build: { present, aside in
      try build(aside, present.cipher.hasReadableHeader)
    }.copy
  }
}
