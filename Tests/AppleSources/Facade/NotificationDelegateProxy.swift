import UserNotifications

/// Stands in for the proxy of this name, whose optional calls need Objective-C. It says the same to its link.
final class NotificationDelegateProxy: NSObject, StubWillPresent, StubDidReceive, LinkedDelegate {
  let link: DelegateLink

  init(_ link: DelegateLink) { self.link = link }

  func userNotificationCenter(
    _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
    withCompletionHandler completionHandler: @escaping (UNNotificationPresentationOptions) -> Void
  ) {
    let carried = Carried(completionHandler)
    link.take(ReceivedNotification(notification, source: .foreground)) { next in
      (next as? any StubWillPresent)?.userNotificationCenter(
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
      (next as? any StubDidReceive)?.userNotificationCenter(
        center, didReceive: response, withCompletionHandler: { @Sendable in carried.value() })
    } otherwise: {
      completionHandler()
    }
  }
}
