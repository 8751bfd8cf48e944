#if !canImport(Darwin)
  import Foundation

  extension FileSystem {
    /// Brings what was written to the medium; 0 when that has happened.
    static func flush(_ descriptor: Int32) -> Int32 { fsync(descriptor) }
  }
#endif
