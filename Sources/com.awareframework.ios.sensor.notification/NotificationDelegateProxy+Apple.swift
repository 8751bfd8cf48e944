#if canImport(UserNotifications)
  import EncryptedSQLite
  import Foundation
  import UserNotifications

  /// Sees what the notification center tells its delegate, and passes it on to the delegate that was there before.
  ///
  /// - Note: `@unchecked Sendable`: `receive` is guarded; `app` is weak, which is safe to read on any thread.
  final class NotificationDelegateProxy: NSObject, UNUserNotificationCenterDelegate, @unchecked Sendable {
    private weak var app: (any UNUserNotificationCenterDelegate)?
    /// Another sensor's proxy is kept: it leads to the app's delegate, also when that sensor is gone.
    private let other: NotificationDelegateProxy?
    private let receive: Locked<(@Sendable (ReceivedNotification) -> Void)?>

    var previous: (any UNUserNotificationCenterDelegate)? { other ?? app }

    init(
      previous: (any UNUserNotificationCenterDelegate)?, _ receive: @escaping @Sendable (ReceivedNotification) -> Void
    ) {
      app = previous
      other = previous as? NotificationDelegateProxy
      self.receive = Locked(receive)
    }

    /// From now on it passes on, and nothing else.
    func stop() { receive.replace(with: nil) }

    func userNotificationCenter(
      _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
      withCompletionHandler completionHandler: @escaping (UNNotificationPresentationOptions) -> Void
    ) {
      receive.snapshot?(ReceivedNotification(notification, source: .foreground))
      let carried = Carried(completionHandler)
      let passedOn: Void? = previous?.userNotificationCenter?(
        center, willPresent: notification, withCompletionHandler: { @Sendable in carried.value($0) })
      if passedOn == nil { completionHandler(.asThePublicSensor) }
    }

    func userNotificationCenter(
      _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
      withCompletionHandler completionHandler: @escaping () -> Void
    ) {
      receive.snapshot?(ReceivedNotification(response.notification, source: .response))
      let carried = Carried(completionHandler)
      let passedOn: Void? = previous?.userNotificationCenter?(
        center, didReceive: response, withCompletionHandler: { @Sendable in carried.value() })
      if passedOn == nil { completionHandler() }
    }

    func userNotificationCenter(_ center: UNUserNotificationCenter, openSettingsFor notification: UNNotification?) {
      previous?.userNotificationCenter?(center, openSettingsFor: notification)
    }
  }
#endif
