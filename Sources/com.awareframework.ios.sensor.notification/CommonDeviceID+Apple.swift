#if canImport(Security)
  import Foundation

  /// The device id that AWARE sensors on one device share, where the public AWARE core keeps it.
  enum CommonDeviceID {
    static var current: String? { PublicSensorDefaults().deviceId }

    /// Makes `deviceId` the common one, if there is none yet.
    static func share(_ deviceId: String) {
      if current == nil { UserDefaults.standard.set(deviceId, forKey: PublicSensorDefaults.deviceIdKey) }
    }
  }
#endif
