// A module named Darwin would make SwiftPM's own test runner take this for an Apple system.

import Foundation

/// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man2/fcntl.2.html
///
/// Linux refuses this number.
public var F_FULLFSYNC: Int32 { 51 }

/// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man2/renamex_np.2.html
public var RENAME_EXCL: Int32 { 4 }

/// Linux has no such call that Swift sees: it is refused, as by a file system that has none.
public func renameatx_np(
  _ fromfd: Int32, _ from: UnsafePointer<CChar>!, _ tofd: Int32, _ to: UnsafePointer<CChar>!, _ flags: UInt32
) -> Int32 {
  errno = ENOTSUP
  return -1
}

public typealias errno_t = Int32

/// C11, Annex K.3.7.4.1.
@discardableResult
public func memset_s(_ s: UnsafeMutableRawPointer!, _ smax: Int, _ c: Int32, _ n: Int) -> errno_t {
  guard let s, n <= smax else { return EINVAL }
  memset(s, c, n)
  return 0
}

extension stat {
  /// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man2/stat.2.html
  public var st_mtimespec: timespec { st_mtim }
}
