#if !canImport(Security)
  /// The device id that AWARE sensors on one device share.
  enum CommonDeviceID {
    /// None here: each store has its own.
    static var current: String? { nil }
    static func share(_ deviceId: String) {}
  }
#endif
