import CSQLCipher
import Foundation

/// Connections and the file that is at their path.
///
/// SQLite opens the WAL, its index and the journal by their names whenever a statement needs them. On a connection whose
/// file was replaced those are the files of the newer database: it would read its WAL, write to it, roll its journal back
/// or delete both. So no statement runs before SQLite's lock keeps the file in its place.
extension Connection {
  /// SQLite's object for the file that it has open; nil for a database in memory.
  private var file: UnsafeMutablePointer<sqlite3_file>? { Self.file(of: handle) }

  static func file(of handle: OpaquePointer) -> UnsafeMutablePointer<sqlite3_file>? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      file.pointee.pMethods != nil
    else { return nil }
    return file
  }

  /// Whether another file is at ``path`` now, or none.
  public var isFileReplaced: Bool { Self.isFileReplaced(handle) }

  static func isFileReplaced(_ handle: OpaquePointer) -> Bool {
    var moved: Int32 = 0
    return sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0
  }

  /// Takes SQLite's SHARED lock, which every replacement of the file has to wait for, and makes sure that the file is
  /// still the one at ``path``. The next statement's end gives the lock back, except in WAL mode, where it stays until the
  /// connection closes.
  ///
  /// - Throws: `fileReplaced`, with the lock given back; `busy`, `cancelled`.
  func lockCurrentFile() throws {
    guard takesLocks, let file, let methods = file.pointee.pMethods else { return }
    waiting.restart()
    while true {
      let status = methods.pointee.xLock(file, SQLITE_LOCK_SHARED)
      if status == SQLITE_OK { break }
      guard status == SQLITE_BUSY else { throw error(status) }
      // A replacement may take as long as it likes; the timeout counts from its end.
      guard waiting.mayRetry(isUncounted: PathLock.isHeld(path)) else { throw error(SQLITE_BUSY) }
      guard !isFileReplaced else { throw fileReplaced }
    }
    guard isFileReplaced else { return }
    _ = methods.pointee.xUnlock(file, SQLITE_LOCK_NONE)
    throw fileReplaced
  }

  private var fileReplaced: DatabaseError {
    DatabaseError(.fileReplaced, "another file is at \(path), or none: open the store again")
  }

  /// Closes the handle, or leaves it open until the process ends where closing would harm the file that is now at the path:
  /// an older SQLite checkpoints the WAL of that name into the old file and deletes it.
  func closeHandle() {
    if isProven, isFileReplaced, sqlite3_libversion_number() < Self.firstVersionClosingReplaced { return }
    sqlite3_close_v2(handle)
    removeEmptyWAL()
  }

  /// The oldest version that was seen to leave WAL and index alone when their database was moved; 3.15 does not.
  private static let firstVersionClosingReplaced: Int32 = 3_046_000

  /// Closes a connection whose key did not open the file, and changes nothing: SQLite would checkpoint the WAL for it.
  func abandonUnproven() {
    // Another handle's lock keeps SQLite from the EXCLUSIVE one that a checkpoint on closing takes.
    let other = takesLocks ? try? Self.openHandle(path, SQLITE_OPEN_READONLY) : nil
    let file = other.flatMap(Self.file)
    let isLocked = file.map { $0.pointee.pMethods.pointee.xLock($0, SQLITE_LOCK_SHARED) == SQLITE_OK } ?? false
    abandon()
    if isLocked, let file { _ = file.pointee.pMethods.pointee.xUnlock(file, SQLITE_LOCK_NONE) }
    if let other { sqlite3_close_v2(other) }
    removeEmptyWAL()
  }

  /// Removes an empty WAL and its index, which SQLite creates for a connection that reads and leaves since that cannot write.
  ///
  /// With SQLite's EXCLUSIVE lock: every connection that has them open holds a lock on the file.
  func removeEmptyWAL() {
    guard takesLocks, FileSystem.exists(path + SideFiles.wal), FileSystem.size(path + SideFiles.wal) == 0,
      let handle = try? Self.openHandle(path, SQLITE_OPEN_READWRITE)
    else { return }
    defer { sqlite3_close_v2(handle) }
    guard let file = Self.file(of: handle), let methods = file.pointee.pMethods,
      methods.pointee.xLock(file, SQLITE_LOCK_SHARED) == SQLITE_OK
    else { return }
    defer { _ = methods.pointee.xUnlock(file, SQLITE_LOCK_NONE) }
    guard methods.pointee.xLock(file, SQLITE_LOCK_EXCLUSIVE) == SQLITE_OK, !Self.isFileReplaced(handle),
      let wal = try? FileStatus(path + SideFiles.wal), wal.isRegularFile, wal.size == 0
    else { return }
    unlink(path + SideFiles.wal)
    unlink(path + SideFiles.index)
  }
}
