import Foundation

/// What SQLite keeps next to a database: its WAL, the WAL's index and its rollback journal, found by their names alone.
///
/// SQLite follows a link at such a name and writes to the file behind it. So what is there is judged before SQLite opens
/// it, and the WAL again afterwards.
struct SideFiles {
  static let wal = "-wal"
  static let index = "-shm"
  static let journal = "-journal"

  /// How a connection that only reads can open the file.
  enum Reading {
    /// With SQLite's locks; it may create the WAL and its index for as long as it is open.
    case locking
    /// With SQLite's locks; every file that it needs exists, and it creates none.
    case lockingOnly
    /// Without locks, as a file that does not change: this user can write neither it nor a file next to it.
    case immutable
  }

  let path: String

  /// That SQLite may open what is next to the file.
  ///
  /// Another mode than the file's, as one that was copied or changed leaves, is repaired where the owner could not open its
  /// own file: that of the index, a cache, by every connection, the others by one that writes.
  ///
  /// - Throws: `notAFile` for a symbolic link or the like, `otherNames` for a hard link, `permissionDenied` for a file that
  ///   this user may not write.
  func check(for access: Connection.Access) throws {
    for suffix in [Self.wal, Self.index, Self.journal] {
      let name = path + suffix
      guard let status = try FileStatus(name) else { continue }
      try Self.requireOwn(status, name)
      let isChanged = suffix == Self.index || access == .readWrite
      guard geteuid() != 0, isChanged, status.permissions & 0o600 != 0o600 || status.owner != geteuid() else {
        continue
      }
      try repair(name, status, access)
    }
  }

  private func repair(_ name: String, _ status: FileStatus, _ access: Connection.Access) throws {
    if status.owner == geteuid(), let mode = try FileStatus(path)?.permissions {
      // By its name: closing a descriptor of the index would end the locks that this process has on it.
      _ = fchmodat(AT_FDCWD, name, mode | 0o600, AT_SYMLINK_NOFOLLOW)
    }
    guard access == .readWrite, Foundation.access(name, R_OK | W_OK) != 0, errno != ENOENT else { return }
    throw DatabaseError(
      .permissionDenied,
      "\(name) is a file of the user with the id \(status.owner), which this user may not write: have that user open and "
        + "close the store once, or remove it while no program has the store open")
  }

  private static func requireOwn(_ status: FileStatus, _ name: String) throws {
    guard status.isRegularFile else {
      throw DatabaseError(
        .notAFile, "\(name) is not a regular file, and SQLite would follow it to another one: move it away")
    }
    // None when it was removed in this moment.
    guard status.names <= 1 else {
      throw DatabaseError(
        .otherNames,
        "\(name) has a second name (a hard link), and SQLite would write to the file of that name: remove one of the names"
      )
    }
  }

  /// That the WAL which SQLite has open is the regular file at its name, and was not exchanged while SQLite opened it.
  ///
  /// - Throws: as ``check(for:)``; `fileReplaced`.
  func checkOpened() throws {
    let name = path + Self.wal
    guard let status = try FileStatus(name) else { return }
    try Self.requireOwn(status, name)
    guard !status.isOpenInThisProcess else { return }
    // Removed or replaced by the last connection that closed is no attack.
    guard try FileStatus(name)?.isSameFile(as: status) == true else { return }
    throw DatabaseError(.fileReplaced, "another file was put at \(name) while it was opened: try again")
  }

  /// - Throws: `permissionDenied` when a WAL holds commits that this user cannot read without creating a file.
  func reading() throws -> Reading {
    let names: [String] = [path, FileSystem.folder(of: path)]
    let isWritable = names.allSatisfy { Foundation.access($0, W_OK) == 0 }
    guard !isWritable else { return .locking }
    let hasWAL = FileSystem.size(path + Self.wal) > 0
    if try FileStatus(path + Self.wal) != nil, try FileStatus(path + Self.index) != nil { return .lockingOnly }
    guard !hasWAL else { throw needsWriter() }
    return FileSystem.size(path + Self.journal) > 0 ? .lockingOnly : .immutable
  }

  /// The commits in the WAL are for those who may write the file.
  func needsWriter() -> DatabaseError {
    DatabaseError(
      .permissionDenied,
      "\(path + Self.wal) holds commits that only a user who may write \(path) can read: run this as its owner, or read a "
        + "backup that its owner makes")
  }
}
