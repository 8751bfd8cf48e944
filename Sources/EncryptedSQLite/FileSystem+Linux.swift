#if !canImport(Security)
  import Foundation

  extension FileSystem {
    /// Brings what was written to the medium; 0 when that has happened.
    static func flush(_ descriptor: Int32) -> Int32 { fsync(descriptor) }

    static func renameWithoutReplacing(_ old: String, _ from: Int32, _ new: String, _ to: Int32) -> Int32 {
      guard let rename = renameAt2 else {
        errno = ENOSYS
        return -1
      }
      // RENAME_NOREPLACE of <linux/fs.h>.
      return rename(from, old, to, new, 1)
    }

    private typealias RenameAt2 =
      @convention(c) (
        Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32
      ) -> Int32

    /// Swift does not see its declaration, and not every C library has it.
    private static let renameAt2: RenameAt2? = dlsym(nil, "renameat2").map { unsafeBitCast($0, to: RenameAt2.self) }
  }

  extension stat {
    /// When the content changed last.
    package var modified: timespec { st_mtim }
  }
#endif
