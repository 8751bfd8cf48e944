#if canImport(Security)
  import Foundation

  extension FileSystem {
    /// Brings what was written to the medium; 0 when that has happened. `fsync` alone leaves it in the drive's cache there;
    /// some file systems know no more than that.
    static func flush(_ descriptor: Int32) -> Int32 {
      fcntl(descriptor, F_FULLFSYNC) == 0 ? 0 : fsync(descriptor)
    }
  }

  extension stat {
    /// When the content changed last.
    var modified: timespec { st_mtimespec }
  }
#endif
