@_exported import AppleFoundation

/// https://developer.apple.com/documentation/usernotifications/unusernotificationcenterdelegate
///
/// Its methods are optional, which Swift has on Apple's systems only: each is a protocol of its own here.
public protocol UNUserNotificationCenterDelegate: NSObjectProtocol {}

/// https://developer.apple.com/documentation/usernotifications/unusernotificationcenterdelegate/usernotificationcenter(_:willpresent:withcompletionhandler:)
public protocol StubWillPresent: UNUserNotificationCenterDelegate {
  func userNotificationCenter(
    _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
    withCompletionHandler completionHandler: @escaping @Sendable (UNNotificationPresentationOptions) -> Void)
}

/// https://developer.apple.com/documentation/usernotifications/unusernotificationcenterdelegate/usernotificationcenter(_:didreceive:withcompletionhandler:)
public protocol StubDidReceive: UNUserNotificationCenterDelegate {
  func userNotificationCenter(
    _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
    withCompletionHandler completionHandler: @escaping @Sendable () -> Void)
}

/// https://developer.apple.com/documentation/usernotifications/unusernotificationcenter
open class UNUserNotificationCenter: NSObject, @unchecked Sendable {
  private static let center = UNUserNotificationCenter()
  /// https://developer.apple.com/documentation/usernotifications/unusernotificationcenter/current()
  open class func current() -> UNUserNotificationCenter { center }

  /// https://developer.apple.com/documentation/usernotifications/unusernotificationcenter/delegate
  open weak var delegate: (any UNUserNotificationCenterDelegate)?

  /// What was asked for.
  public private(set) var stubOptions: UNAuthorizationOptions?
  /// https://developer.apple.com/documentation/usernotifications/unusernotificationcenter/requestauthorization(options:completionhandler:)
  open func requestAuthorization(
    options: UNAuthorizationOptions = [], completionHandler: @escaping @Sendable (Bool, (any Error)?) -> Void
  ) {
    stubOptions = options
    completionHandler(true, nil)
  }
}
