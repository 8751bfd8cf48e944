#if canImport(UserNotifications)
  import Foundation
  import NotificationStore
  import UserNotifications

  /// Puts a proxy in front of the notification center's delegate.
  final class SystemPushIntegration: PushIntegration {
    private let place = DelegatePlace()
    private let center: () -> UNUserNotificationCenter?

    /// A program without a bundle has no notification center; asking for it would end the program.
    init(
      _ center: @escaping () -> UNUserNotificationCenter? = { Bundle.main.bundleIdentifier == nil ? nil : .current() }
    ) {
      self.center = center
    }

    func install(_ receive: @escaping @Sendable (ReceivedNotification) -> Void) {
      guard let center = center() else { return }
      place.install(in: center, receive) { NotificationDelegateProxy($0) }
    }

    func remove() { place.remove() }

    func requestPermission(_ report: @escaping @Sendable (String?) -> Void) {
      center()?.requestAuthorization(options: [.alert, .sound, .badge]) { _, error in report(error.map { "\($0)" }) }
    }
  }

  extension UNUserNotificationCenter: DelegateHolder {
    var heldDelegate: AnyObject? {
      get { delegate }
      set { delegate = newValue as? any UNUserNotificationCenterDelegate }
    }
  }

  extension ReceivedNotification {
    init(_ notification: UNNotification, source: NotificationSource) {
      let content = notification.request.content
      self.init(
        identifier: notification.request.identifier, title: content.title, body: content.body,
        categoryIdentifier: content.categoryIdentifier, threadIdentifier: content.threadIdentifier,
        hasSound: content.sound != nil, badge: content.badge?.intValue ?? 0, source: source)
      contentDigest = content.userInfo[Self.contentDigestKey] as? String
      if #available(iOS 15, macOS 12, *) { interruptionLevel = Int(content.interruptionLevel.rawValue) }
    }
  }

  extension UNNotificationPresentationOptions {
    /// What the public sensor shows where the app has no delegate of its own.
    static var asThePublicSensor: Self {
      if #available(iOS 14, macOS 11, *) { [.banner, .sound, .badge] } else { [.alert, .sound, .badge] }
    }
  }
#endif
