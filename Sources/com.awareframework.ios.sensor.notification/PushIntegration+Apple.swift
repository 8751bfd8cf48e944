#if canImport(UserNotifications)
  import Foundation
  import NotificationStore
  import UserNotifications

  /// Puts a proxy in front of the notification center's delegate.
  ///
  /// - Note: `@unchecked Sendable`: `proxy` is guarded by `lock`.
  final class SystemPushIntegration: PushIntegration, @unchecked Sendable {
    private let lock = NSLock()
    private var proxy: NotificationDelegateProxy?

    func install(_ receive: @escaping @Sendable (ReceivedNotification) -> Void) {
      lock.lock()
      defer { lock.unlock() }
      let center = UNUserNotificationCenter.current()
      guard proxy == nil || center.delegate !== proxy else { return }
      let proxy = NotificationDelegateProxy(previous: center.delegate, receive)
      self.proxy = proxy
      center.delegate = proxy
    }

    func remove() {
      lock.lock()
      defer { lock.unlock() }
      guard let proxy else { return }
      proxy.stop()
      let center = UNUserNotificationCenter.current()
      // Where another delegate was put in front of the proxy since, it stays, and the proxy only passes on to the one before.
      if center.delegate === proxy {
        center.delegate = proxy.previous
        self.proxy = nil
      }
    }

    func requestPermission(_ report: @escaping @Sendable (String?) -> Void) {
      UNUserNotificationCenter.current().requestAuthorization(options: [.alert, .badge, .sound]) { _, error in
        report(error.map { "\($0)" })
        RemoteNotifications.register()
      }
    }
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
#endif
