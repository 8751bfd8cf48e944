#if canImport(UIKit)
  import UIKit

  /// Asks APNs for a device token; the app delegate hands it to ``NotificationSensor/setDeviceToken(_:)``.
  enum RemoteNotifications {
    static func register() {
      DispatchQueue.main.async { UIApplication.shared.registerForRemoteNotifications() }
    }
  }
#elseif canImport(AppKit)
  import AppKit

  /// Asks APNs for a device token; the app delegate hands it to ``NotificationSensor/setDeviceToken(_:)``.
  enum RemoteNotifications {
    static func register() {
      DispatchQueue.main.async { NSApplication.shared.registerForRemoteNotifications() }
    }
  }
#endif
