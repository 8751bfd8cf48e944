#if canImport(Security)
  import Foundation

  /// How the system protects a store's files beyond their encryption.
  enum FileProtection {
    /// The store and the files next to it can be opened from the first unlock after a restart on, as pushes come while the
    /// device is locked; and no backup takes them along, for the key is not in one either.
    ///
    /// To be called after each opening: some of the files are made again each time, and begin with what the app has chosen
    /// for all its files. The spool protects each of its files itself.
    static func apply(to path: String) {
      for name in [path, path + "-wal", path + "-shm", path + ".spool"] where access(name, F_OK) == 0 { protect(name) }
    }

    /// The same for one file or folder.
    static func protect(_ name: String) {
      if #available(macOS 11, *) {
        try? FileManager.default.setAttributes(
          [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: name)
      }
      var url = URL(fileURLWithPath: name)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      try? url.setResourceValues(values)
    }
  }
#endif
