import Foundation

extension FileSystem {
  /// Gives the file `old` in the open folder `from` the name `new` in the open folder `to`, which replaces no file there.
  ///
  /// - Returns: 0, or -1 with the reason in `errno`: `EEXIST` when the name is taken.
  package static func renameExclusively(_ old: String, in from: Int32, to new: String, in to: Int32) -> Int32 {
    if renameWithoutReplacing(old, from, new, to) == 0 { return 0 }
    switch errno {
    case EINVAL, ENOSYS, ENOTSUP: return linkAndUnlink(old, from, new, to)
    default: return -1
    }
  }

  /// The same on a file system that cannot rename so. A kill between the two calls leaves both names.
  static func linkAndUnlink(_ old: String, _ from: Int32, _ new: String, _ to: Int32) -> Int32 {
    linkat(from, old, to, new, 0) == 0 ? unlinkat(from, old, 0) : -1
  }

  /// Makes the contents of an open file or folder survive a power cut.
  ///
  /// - Parameter path: for the error.
  package static func sync(_ descriptor: Int32, _ path: String) throws {
    guard flush(descriptor) == 0 else { throw error("write", path, errno) }
  }
}
