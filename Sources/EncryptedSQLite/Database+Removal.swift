import Foundation

extension Database {
  /// Removes the file at `path` with its WAL and index, while no other connection can use it.
  ///
  /// - Parameter check: called with the file, once this connection alone has it; throws when it is to stay.
  /// - Throws: `busy`, and what opening and `check` throw; nothing is removed then.
  package static func remove(
    _ path: String, key: EncryptionKey, busyTimeout: Double? = nil, check: (Connection) throws -> Void
  ) throws {
    let path = try FileSystem.absolute(path)
    try Connection.checkFile(path, for: .readWrite)
    let lock = try PathLock(path, timeout: busyTimeout)
    defer { lock.release() }
    let connection = try Connection.open(path, key: key, options: .init(busyTimeout: busyTimeout))
    do {
      // The WAL and its index go with WAL mode.
      try connection.acquireExclusiveAccess()
      try check(connection)
      guard !connection.isFileReplaced else {
        throw DatabaseError(.fileReplaced, "another file was put at \(path), and was not removed: try again")
      }
      try FileSystem.remove(path)
    } catch {
      try? connection.close()
      throw error
    }
    try? connection.closeReplaced()
    try FileSystem.syncFolder(of: path)
  }
}
