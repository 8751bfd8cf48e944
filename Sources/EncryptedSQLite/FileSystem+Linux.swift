#if !canImport(Security)
  import Foundation

  extension FileSystem {
    /// Brings what was written to the medium; 0 when that has happened.
    static func flush(_ descriptor: Int32) -> Int32 { fsync(descriptor) }
  }

  extension stat {
    /// When the content changed last.
    var modified: timespec { st_mtim }
  }
#endif
