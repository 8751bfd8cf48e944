#if canImport(Darwin)
  import Foundation

  /// How the system protects a store's files beyond their encryption.
  enum FileProtection {
    /// The store and what stands beside it can be opened from the first unlock after a restart on, as pushes come while the
    /// device is locked; and no backup takes them along, for the key is not in one either.
    static func apply(to path: String) {
      for name in [path, path + "-wal", path + "-shm", path + ".spool"] {
        #if os(iOS)
          try? FileManager.default.setAttributes(
            [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: name)
        #endif
        var url = URL(fileURLWithPath: name)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        try? url.setResourceValues(values)
      }
    }
  }
#endif
