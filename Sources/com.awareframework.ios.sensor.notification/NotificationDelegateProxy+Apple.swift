#if canImport(UserNotifications)
  import Foundation
  import UserNotifications

  /// Sees what the notification center tells its delegate. What comes of it is decided by its link.
  final class NotificationDelegateProxy: NSObject, UNUserNotificationCenterDelegate, LinkedDelegate {
    let link: DelegateLink

    init(_ link: DelegateLink) { self.link = link }

    func userNotificationCenter(
      _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
      withCompletionHandler completionHandler: @escaping (UNNotificationPresentationOptions) -> Void
    ) {
      let carried = Carried(completionHandler)
      link.take(ReceivedNotification(notification, source: .foreground)) { next in
        (next as? any UNUserNotificationCenterDelegate)?.userNotificationCenter?(
          center, willPresent: notification, withCompletionHandler: { @Sendable in carried.value($0) })
      } otherwise: {
        completionHandler(.asThePublicSensor)
      }
    }

    func userNotificationCenter(
      _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
      withCompletionHandler completionHandler: @escaping () -> Void
    ) {
      let carried = Carried(completionHandler)
      link.take(ReceivedNotification(response.notification, source: .response)) { next in
        (next as? any UNUserNotificationCenterDelegate)?.userNotificationCenter?(
          center, didReceive: response, withCompletionHandler: { @Sendable in carried.value() })
      } otherwise: {
        completionHandler()
      }
    }

    func userNotificationCenter(_ center: UNUserNotificationCenter, openSettingsFor notification: UNNotification?) {
      (link.next as? any UNUserNotificationCenterDelegate)?.userNotificationCenter?(
        center, openSettingsFor: notification)
    }
  }
#endif
