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
    do {
      try FileSystem.lock(descriptor, folder, "the files of \(folder)", until: deadline)
    } catch {
      close(descriptor)
      throw error
    }
  }

  package func release() { close(descriptor) }
}
