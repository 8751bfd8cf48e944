#if canImport(UserNotifications)
  import Foundation
  import NotificationStore
  import UserNotifications

  /// Puts a proxy in front of the notification center's delegate.
  ///
  /// - Note: `@unchecked Sendable`: `active` and `retired` are guarded by `lock`.
  final class SystemPushIntegration: PushIntegration, @unchecked Sendable {
    private let lock = NSLock()
    private var active: NotificationDelegateProxy?
    /// Proxies that another delegate was put in front of, which may still call them: from then on they only pass on.
    private var retired: [NotificationDelegateProxy] = []

    /// A program without a bundle has no notification center; asking for it would end the program.
    private var center: UNUserNotificationCenter? { Bundle.main.bundleIdentifier == nil ? nil : .current() }

    func install(_ receive: @escaping @Sendable (ReceivedNotification) -> Void) {
      lock.lock()
      defer { lock.unlock() }
      guard let center, active == nil else { return }
      let proxy = NotificationDelegateProxy(previous: center.delegate, receive)
      active = proxy
      center.delegate = proxy
    }

    func remove() {
      lock.lock()
      defer { lock.unlock() }
      guard let center, let proxy = active else { return }
      active = nil
      proxy.stop()
      if center.delegate === proxy {
        center.delegate = proxy.previous
      } else {
        retired.append(proxy)
      }
    }

    func requestPermission(_ report: @escaping @Sendable (String?) -> Void) {
      center?.requestAuthorization(options: [.alert, .sound, .badge]) { _, error in report(error.map { "\($0)" }) }
    }

    deinit { remove() }
  }

  extension ReceivedNotification {
    init(_ notification: UNNotification, source: NotificationSource) {
      let content = notification.request.content
      self.init(
        identifier: notification.request.identifier, title: content.title, body: content.body,
        categoryIdentifier: content.categoryIdentifier, threadIdentifier: content.threadIdentifier,
        hasSound: content.sound != nil, badge: content.badge?.intValue ?? 0, source: source)
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
