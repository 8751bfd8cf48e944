import Foundation

extension Database {
  /// Copies the file at `path` to a new file, consistent as of now while others write (in rollback-journal mode they wait), encrypted under the same key or
  /// another one. The copy is read back before it gets its name.
  ///
  /// - Parameters:
  ///   - backup: where the copy goes; nothing may be there.
  ///   - backupKey: the copy's key; nil means the file's own.
  ///   - progress: told the part that is done, from 0 to 1; false ends the work.
  /// - Throws: `invalidRawKey` for a `backupKey` that ``EncryptionKey/resemblesRawKey``; `alreadyExists`, `diskFull`, `corrupt`, `cancelled`, `readableHeaderUnavailable` (the file has one, and
  ///   `backupKey` brings no salt), and what opening throws; nothing is left over.
  public static func backUp(
    _ path: String, key: EncryptionKey, to backup: String, backupKey: EncryptionKey? = nil, busyTimeout: Double? = nil,
    progress: (Double) -> Bool = { _ in true }
  ) throws -> BackupReport {
    let backup = try FileSystem.absolute(backup)
    if let backupKey, backupKey != key { try backupKey.requireChosen() }
    let key = (source: key, copy: backupKey ?? key)
    let source = try Connection.open(path, key: key.source, options: .init(access: .readOnly, busyTimeout: busyTimeout))
    defer { try? source.close() }
    guard access(backup, F_OK) != 0 else { throw FileSystem.error("make", backup, EEXIST) }
    return try NewFile.make(backup) { aside in
      // No longer than the copying: meanwhile the log cannot be emptied, and without a log nobody can write.
      let counts = try source.readTransaction {
        try FileSystem.requireSpace(try source.byteCount, beside: backup, for: "a backup of \(source.path)")
        try source.backUp(to: aside, key: key.copy, format: source.cipher.format, progress: progress)
        return try TableCounts(source)
      }
      let copy = try FileState.ofCopy(aside, for: backup, key.copy, busyTimeout, expecting: counts)
      guard progress(1) else {
        throw DatabaseError(.cancelled, "the backup of \(source.path) was interrupted; nothing of it is left")
      }
      return BackupReport(path: backup, pages: copy.pages, generation: copy.generation, counts: counts.counts)
    }
  }
}
