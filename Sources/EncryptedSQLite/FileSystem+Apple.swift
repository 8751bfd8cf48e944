#if canImport(Security)
  import Foundation

  extension FileSystem {
    /// Brings what was written to the medium; 0 when that has happened. `fsync` alone leaves it in the drive's cache there;
    /// some file systems know no more than that.
    static func flush(_ descriptor: Int32) -> Int32 {
      fcntl(descriptor, F_FULLFSYNC) == 0 ? 0 : fsync(descriptor)
    }

    /// By the documented call: the sandbox's rules for `link` are not.
    static func renameWithoutReplacing(_ old: String, _ from: Int32, _ new: String, _ to: Int32) -> Int32 {
      renameatx_np(from, old, to, new, UInt32(RENAME_EXCL))
    }
  }

  extension stat {
    /// When the content changed last.
    package var modified: timespec { st_mtimespec }
  }
#endif
