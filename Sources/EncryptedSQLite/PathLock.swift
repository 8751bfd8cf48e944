import Foundation

/// A lock on a path that one holder at a time has, in whatever process or thread, whichever file is at that path.
///
/// SQLite's own locks are on the file, and a process that waits for one gets it on a file that was replaced since. This
/// one is on an empty file, `<path>.lock`, which its holder removes: what a killed process leaves is free and is reused.
package final class PathLock {
  private let descriptor: Int32
  private let lockPath: String

  private static let suffix = ".lock"

  /// Waits for the lock on `path`.
  ///
  /// - Parameter timeout: in seconds; nil means the process's own.
  /// - Throws: `busy`, `cancelled`, `notAFile` where something else is at the lock's path, and the errors of ``FileSystem``.
  package init(_ path: String, timeout: Double?) throws {
    lockPath = path + Self.suffix
    let wait = LockWait(path, timeout: timeout)
    while true {
      let descriptor = try Self.open(lockPath, for: path)
      do {
        if try Self.isLocked(descriptor, lockPath) {
          self.descriptor = descriptor
          return
        }
      } catch {
        close(descriptor)
        throw error
      }
      close(descriptor)
      guard wait.mayRetry() else {
        throw LockWait.error(
          path,
          busy: DatabaseError(
            .busy, "another process replaces \(path) or changes its key: try again when it is done"))
      }
    }
  }

  /// Releases the lock.
  package func release() {
    // Only the holder removes the name, and a holder has found its lock at this name.
    unlink(lockPath)
    close(descriptor)
  }

  /// Removes what a killed holder left, where it did.
  package static func removeAbandoned(_ path: String) {
    guard FileSystem.exists(path + suffix) else { return }
    (try? PathLock(path, timeout: 0))?.release()
  }

  /// Whether another holder has the lock on `path` now.
  static func isHeld(_ path: String) -> Bool {
    let descriptor = Foundation.open(path + suffix, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    // Another user's file, who may keep its lock for ever, says nothing.
    guard let status = try? FileStatus(descriptor: descriptor, path), let file = try? FileStatus(path),
      [file.owner, geteuid(), 0].contains(status.owner)
    else { return false }
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }

  private static func open(_ lockPath: String, for path: String) throws -> Int32 {
    let folder = FileSystem.folder(of: path)
    if access(folder, W_OK) != 0, errno != ENOENT {
      throw DatabaseError(.readOnly, "\(folder) cannot be written by this user: check its mode and its owner")
    }
    while true {
      do {
        let descriptor = try FileSystem.createForOwner(lockPath, "lock", named: path)
        // An administrator's lock must not keep the owner of the store out, should it be left behind.
        if geteuid() == 0, let file = try FileStatus(path) { _ = fchown(descriptor, file.owner, file.group) }
        return descriptor
      } catch let error as DatabaseError where error.code == .alreadyExists {
        let descriptor = Foundation.open(lockPath, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        if descriptor < 0 {
          if errno == ENOENT { continue }
          guard errno != ELOOP else { throw notALock(lockPath) }
          throw FileSystem.error("lock", lockPath, errno)
        }
        return descriptor
      }
    }
  }

  /// Whether the lock was free, and its file is the one at its path: the holder before may have removed that.
  private static func isLocked(_ descriptor: Int32, _ lockPath: String) throws -> Bool {
    let opened = try FileStatus(descriptor: descriptor, lockPath)
    guard opened.isRegularFile, opened.size == 0 else { throw notALock(lockPath) }
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      if errno == EINTR { continue }
      guard errno == EWOULDBLOCK else { throw FileSystem.error("lock", lockPath, errno) }
      return false
    }
    return opened.isSameFile(as: try FileStatus(lockPath))
  }

  private static func notALock(_ lockPath: String) -> DatabaseError {
    DatabaseError(.notAFile, "\(lockPath) is not an empty regular file, which locks the path: move it away")
  }
}
