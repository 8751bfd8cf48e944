import Foundation

/// The few calls on files that need an error of their own.
package enum FileSystem {
  /// The error for a failed call on `path` with this `errno`.
  package static func error(_ action: String, _ path: String, _ reason: Int32) -> DatabaseError {
    let what = "cannot \(action) \(path)"
    switch reason {
    case ENOENT, ENOTDIR:
      return DatabaseError(.notFound, "\(what): there is no such file or folder")
    case EEXIST:
      return DatabaseError(.alreadyExists, "\(what): it exists already; choose another name or remove it first")
    case EACCES, EPERM:
      return DatabaseError(.permissionDenied, "\(what): permission denied; check its owner and mode")
    case EROFS:
      return DatabaseError(.readOnly, "\(what): the file system is read-only")
    case ENOSPC, EDQUOT:
      return DatabaseError(.diskFull, "\(what): the disk is full; free some space and try again")
    default:
      return DatabaseError(.inputOutput, "\(what): \(String(cString: strerror(reason)))")
    }
  }

  /// Opens a new file for writing that only this user can read, whatever the umask.
  ///
  /// - Parameter name: what an error calls the file, where that is not its path.
  package static func createForOwner(
    _ path: String, _ action: String = "make", named name: String? = nil
  ) throws -> Int32 {
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw error(action, name ?? path, errno) }
    // The umask may have taken the owner's bits away.
    guard fchmod(descriptor, 0o600) == 0 else {
      let reason = errno
      close(descriptor)
      unlink(path)
      throw error(action, name ?? path, reason)
    }
    return descriptor
  }

  package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, _ path: String) throws {
    var rest = bytes
    while !rest.isEmpty {
      let written = Foundation.write(descriptor, rest.baseAddress, rest.count)
      if written < 0 {
        if errno == EINTR { continue }
        throw error("write", path, errno)
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[written...])
    }
  }

  /// Waits for the lock on the open file or folder at `path`, which one holder at a time has.
  ///
  /// - Parameters:
  ///   - what: the other holder works on, for the error.
  ///   - timeout: in seconds; nil means the process's own.
  /// - Throws: `busy`, `cancelled`, and the error for another failure.
  package static func lock(_ descriptor: Int32, _ path: String, _ what: String, timeout: Double?) throws {
    let wait = LockWait(path, timeout: timeout)
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      let reason = errno
      if reason == EINTR { continue }
      guard reason == EWOULDBLOCK else { throw error("lock", path, reason) }
      guard wait.mayRetry() else {
        throw LockWait.error(
          path, busy: DatabaseError(.busy, "another process works on \(what): try again when it is done"))
      }
    }
  }

  /// Makes a new, renamed or removed name in the folder of `path` survive a power cut.
  package static func syncFolder(of path: String) throws {
    try sync(folder(of: path))
  }

  /// As ``syncFolder(of:)``, for a file that stands in its place already, whatever this says.
  package static func syncInPlace(_ path: String) throws {
    do {
      try syncFolder(of: path)
    } catch let error as DatabaseError {
      throw DatabaseError(
        error.code,
        "\(path) is in its place, but might not be there after a power cut (\(error.message)): check the disk")
    }
  }

  /// The folder that the file at `path` is in.
  package static func folder(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Makes the contents of the file or folder at `path` survive a power cut.
  package static func sync(_ path: String) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw error("open", path, errno) }
    defer { close(descriptor) }
    guard flush(descriptor) == 0 else { throw error("write", path, errno) }
  }

  /// The last component of `path`.
  package static func name(of path: String) -> String {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
  }

  /// `path` from the root on and without symbolic links, so that a later change of the working directory does not move
  /// it, and SQLite's own files are found beside it. Of a file that does not exist the folder's links are resolved.
  ///
  /// - Throws: `invalidArgument` for an empty path or one with a NUL, which C would cut short.
  package static func absolute(_ path: String) throws -> String {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw DatabaseError(.invalidArgument, "the path is empty or holds a NUL: give the path of a file")
    }
    if let existing = resolved(path) { return existing }
    guard let folder = resolved(folder(of: path)) else {
      return path.utf8.first == UInt8(ascii: "/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }
    return (folder == "/" ? "" : folder) + "/" + name(of: path)
  }

  private static func resolved(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(validatingCString: real)
  }

  /// - Throws: `diskFull` when `bytes` are not free in the folder of `path`, before anything is written.
  package static func requireSpace(_ bytes: Int, beside path: String, for what: String) throws {
    guard let free = freeSpace(beside: path), free < bytes else { return }
    throw DatabaseError(
      .diskFull,
      "\(what) takes \(bytes) bytes, and \(free) are free: free some space and try again; nothing was changed")
  }

  /// Gives the new file at `copy`, which nobody has open, the owner and group of the one at `path`, and its
  /// mode if `keepingMode`.
  ///
  /// By a descriptor that is no link's and no other file's, for an administrator may be working in a folder of somebody
  /// who exchanges the names.
  package static func takeOwner(of path: String, for copy: String, keepingMode: Bool = false) throws {
    var (old, new) = (stat(), stat())
    guard stat(path, &old) == 0 else { throw error("look at", path, errno) }
    let descriptor = open(copy, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { throw error("open", copy, errno) }
    defer { close(descriptor) }
    guard fstat(descriptor, &new) == 0 else { throw error("look at", copy, errno) }
    if keepingMode, fchmod(descriptor, old.st_mode & 0o777) != 0 { throw error("change the mode of", copy, errno) }
    guard old.st_uid != new.st_uid || old.st_gid != new.st_gid else { return }
    guard new.st_mode & S_IFMT == S_IFREG, new.st_nlink == 1, new.st_uid == geteuid(),
      fchown(descriptor, old.st_uid, old.st_gid) == 0
    else {
      throw DatabaseError(
        .permissionDenied, "\(path) belongs to another user: run this as that user, or as the administrator")
    }
  }

  /// The bytes that this user may still write in the folder of `path`; nil when the system does not tell.
  package static func freeSpace(beside path: String) -> Int? {
    var status = statvfs()
    // Some file systems of a network do not count their blocks.
    guard statvfs(folder(of: path), &status) == 0, status.f_blocks > 0, status.f_frsize > 0 else { return nil }
    let (bytes, isTooMany) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
    return isTooMany ? .max : Int(clamping: bytes)
  }

  /// Whether something is at `path`; a symbolic link is not followed.
  static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// The file's size in bytes, 0 when there is none.
  package static func size(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }
}
