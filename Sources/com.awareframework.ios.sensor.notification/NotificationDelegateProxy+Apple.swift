#if canImport(UserNotifications)
  import Foundation
  import UserNotifications

  /// Sees what the notification center tells its delegate, and passes it on to the delegate that was there before.
  ///
  /// - Note: `@unchecked Sendable`: `receive` is guarded; `previous` is weak, which is safe to read on any thread.
  final class NotificationDelegateProxy: NSObject, UNUserNotificationCenterDelegate, @unchecked Sendable {
    private(set) weak var previous: (any UNUserNotificationCenterDelegate)?
    private let receive: Locked<(@Sendable (ReceivedNotification) -> Void)?>

    init(
      previous: (any UNUserNotificationCenterDelegate)?, _ receive: @escaping @Sendable (ReceivedNotification) -> Void
    ) {
      self.previous = previous
      self.receive = Locked(receive)
    }

    /// From now on it passes on, and nothing else.
    func stop() { receive.withLock { $0 = nil } }

    func userNotificationCenter(
      _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
      withCompletionHandler completionHandler: @escaping (UNNotificationPresentationOptions) -> Void
    ) {
      receive.snapshot?(ReceivedNotification(notification, source: .foreground))
      if previous?.userNotificationCenter?(
        center, willPresent: notification, withCompletionHandler: completionHandler) == nil
      {
        // As without any delegate: a sensor does not change what is shown.
        completionHandler([])
      }
    }

    func userNotificationCenter(
      _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
      withCompletionHandler completionHandler: @escaping () -> Void
    ) {
      receive.snapshot?(ReceivedNotification(response.notification, source: .response))
      if previous?.userNotificationCenter?(center, didReceive: response, withCompletionHandler: completionHandler)
        == nil
      {
        completionHandler()
      }
    }

    func userNotificationCenter(_ center: UNUserNotificationCenter, openSettingsFor notification: UNNotification?) {
      previous?.userNotificationCenter?(center, openSettingsFor: notification)
    }
  }
#endif
