import Foundation

/// By what a change of a database's files is known without reading them: whether each of file, log and journal is there,
/// its size, and when it was written last.
package struct FileStamp: Equatable {
  private struct Part: Equatable {
    let file: UInt64
    let size: Int
    let seconds: Int
    let nanoseconds: Int
  }

  private let parts: [Part?]

  package init(_ path: String) {
    parts = ["", "-wal", "-journal"].map { suffix in
      var status = stat()
      guard stat(path + suffix, &status) == 0 else { return nil }
      return Part(
        file: UInt64(status.st_ino), size: Int(status.st_size), seconds: Int(status.modified.tv_sec),
        nanoseconds: Int(status.modified.tv_nsec))
    }
  }

  /// The seconds since something was written. Clocks of file systems have steps: a change within one of the change before
  /// does not show in the stamp.
  package var age: Double {
    // An empty log is one that a connection has just made, or that is folded in, which shows in the file.
    let times = parts.compactMap { $0 }.filter { $0.size > 0 }.map { Double($0.seconds) + Double($0.nanoseconds) / 1e9 }
    return Date().timeIntervalSince1970 - (times.max() ?? 0)
  }
}
