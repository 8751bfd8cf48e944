import Foundation

/// A lock on a folder that one holder at a time has, in whatever process or thread; it leaves no file behind.
package final class FolderLock {
  private let descriptor: Int32

  /// Waits for the folder of `path` until `deadline`.
  ///
  /// - Throws: `busy`, and the errors of ``FileSystem``.
  package init(folderOf path: String, until deadline: Date) throws {
    let folder = FileSystem.folder(of: path)
    descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileSystem.error("open", folder, errno) }
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      let reason = errno
      if reason == EINTR { continue }
      guard reason == EWOULDBLOCK else {
        close(descriptor)
        throw FileSystem.error("lock", folder, reason)
      }
      guard Date() < deadline else {
        close(descriptor)
        throw DatabaseError(.busy, "another process works on the files of \(folder): try again when it is done")
      }
      usleep(10_000)
    }
  }

  package func release() { close(descriptor) }
}
