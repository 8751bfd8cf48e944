import Foundation

/// What the file system knows of a name.
package struct FileStatus {
  private let status: stat

  /// nil when there is nothing at `path`. A symbolic link is not followed.
  package init?(_ path: String) throws {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw FileSystem.error("look at", path, errno)
    }
    self.status = status
  }

  package init(descriptor: Int32, _ path: String) throws {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileSystem.error("look at", path, errno) }
    self.status = status
  }

  package var isRegularFile: Bool { status.st_mode & S_IFMT == S_IFREG }
  /// How many names the file has.
  package var names: Int { Int(status.st_nlink) }
  package var size: Int { Int(status.st_size) }
  package var owner: uid_t { status.st_uid }
  package var group: gid_t { status.st_gid }
  /// The nine bits of the mode that say who may read, write and execute.
  package var permissions: mode_t { status.st_mode & 0o777 }

  package func isSameFile(as other: FileStatus?) -> Bool {
    other.map { $0.status.st_dev == status.st_dev && $0.status.st_ino == status.st_ino } ?? false
  }

  /// Whether a descriptor of this process is open on the file.
  var isOpenInThisProcess: Bool {
    let limit = min(max(256, sysconf(Int32(_SC_OPEN_MAX))), 65_536)
    return (0..<Int32(limit)).contains { descriptor in
      var opened = stat()
      return fstat(descriptor, &opened) == 0 && opened.st_ino == status.st_ino && opened.st_dev == status.st_dev
    }
  }
}
