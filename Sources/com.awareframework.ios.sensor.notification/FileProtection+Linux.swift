#if !canImport(Security)
  /// How the system protects a store's files beyond their encryption.
  enum FileProtection {
    /// Nothing here.
    static func apply(to path: String) {}
    static func protect(_ name: String) {}
  }
#endif
