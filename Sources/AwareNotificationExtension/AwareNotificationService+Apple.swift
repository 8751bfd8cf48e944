#if canImport(UserNotifications)
  import EncryptedSQLite
  import Foundation
  import NotificationStore
  import UserNotifications
  import com_awareframework_ios_sensor_notification

  /// A service extension that records each push before it is shown. Derive the extension's principal class from it:
  ///
  /// ```swift
  /// nonisolated class NotificationService: AwareNotificationService {
  ///   override func makeConfiguration() -> NotificationSensor.Config { sharedConfiguration() }
  /// }
  /// ```
  ///
  /// Without `nonisolated` it does not compile in a target whose Default Actor Isolation is MainActor.
  open class AwareNotificationService: UNNotificationServiceExtension {
    /// The app's configuration: the same key, `appGroupIdentifier` and `dbPath`.
    open func makeConfiguration() -> NotificationSensor.Config { NotificationSensor.Config() }

    /// Changes or enriches the content; what it throws leaves the content as it came.
    ///
    /// - Parameter settings: what the app shares; nil without an app group.
    open func transform(
      _ content: NotificationContent, settings: SharedSettings?
    ) async throws -> NotificationContent {
      content
    }

    /// Is told what went wrong, on any thread.
    open func onError(_ error: AwareNotificationError) { NSLog("%@", "\(NotificationSensor.TAG): \(error.message)") }

    private let made = Locked<NotificationServiceRecorder?>(nil)

    /// Made when the first notification comes, on whatever thread that is.
    private var recorder: NotificationServiceRecorder {
      made.withLock { made in
        let recorder = made ?? makeRecorder()
        made = recorder
        return recorder
      }
    }

    private func makeRecorder() -> NotificationServiceRecorder {
      let service = WeakService(self)
      return NotificationServiceRecorder(
        makeConfiguration(),
        transform: { content, settings in
          guard let service = service.object else { return content }
          return try await service.transform(content, settings: settings)
        }, onError: { service.object?.onError($0) })
    }

    open override func didReceive(
      _ request: UNNotificationRequest, withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {
      let system = Handed(content: request.content, handler: contentHandler)
      let notification = DeliveredNotification(request)
      recorder.didReceive(notification) { content in
        system.handler(content.applied(to: system.content, from: notification))
      }
    }

    open override func serviceExtensionTimeWillExpire() { made.snapshot?.serviceExtensionTimeWillExpire() }
  }

  /// - Note: `@unchecked Sendable`: a weak reference may be read on any thread, and is not changed.
  private final class WeakService: @unchecked Sendable {
    weak var object: AwareNotificationService?
    init(_ object: AwareNotificationService) { self.object = object }
  }

  /// - Note: `@unchecked Sendable`: the content is immutable, and the handler is called once.
  private struct Handed: @unchecked Sendable {
    let content: UNNotificationContent
    let handler: (UNNotificationContent) -> Void
  }

  extension DeliveredNotification {
    init(_ request: UNNotificationRequest) {
      let content = request.content
      self.init(
        identifier: request.identifier,
        content: NotificationContent(
          title: content.title, subtitle: content.subtitle, body: content.body, badge: content.badge?.intValue,
          categoryIdentifier: content.categoryIdentifier, threadIdentifier: content.threadIdentifier,
          payload: PayloadJSON.text(content.userInfo)), hasSound: content.sound != nil)
      if #available(iOS 15, macOS 12, *) { interruptionLevel = Int(content.interruptionLevel.rawValue) }
    }
  }

  extension NotificationContent {
    /// The system's content with what differs from that of `notification`, and the digest of that; all else as it came.
    func applied(to content: UNNotificationContent, from notification: DeliveredNotification) -> UNNotificationContent {
      let original = notification.content
      guard self != original, let changed = content.mutableCopy() as? UNMutableNotificationContent else {
        return content
      }
      changed.userInfo[ReceivedNotification.contentDigestKey] = notification.contentDigest
      if title != original.title { changed.title = title }
      if subtitle != original.subtitle { changed.subtitle = subtitle }
      if body != original.body { changed.body = body }
      if badge != original.badge { changed.badge = badge.map { NSNumber(value: $0) } }
      if categoryIdentifier != original.categoryIdentifier { changed.categoryIdentifier = categoryIdentifier }
      if threadIdentifier != original.threadIdentifier { changed.threadIdentifier = threadIdentifier }
      // One that the system does not take is left out; the notification is shown all the same.
      changed.attachments += attachments.compactMap {
        try? UNNotificationAttachment(identifier: $0.identifier, url: $0.url, options: nil)
      }
      return changed
    }
  }
#endif
