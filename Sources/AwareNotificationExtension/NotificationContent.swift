import Foundation
import NotificationStore
import com_awareframework_ios_sensor_notification

/// The content of a notification, as far as an app's transform may change it.
///
/// What is not here (sounds, sent attachments, target content) goes on as it came, and so does what a transform does not
/// touch.
public struct NotificationContent: Sendable, Equatable {
  /// A file to show with the notification.
  public struct Attachment: Sendable, Equatable {
    public var identifier: String
    /// A file; the system moves it away.
    public var url: URL

    public init(identifier: String, url: URL) {
      self.identifier = identifier
      self.url = url
    }
  }

  public var title: String
  public var subtitle: String
  public var body: String
  /// nil leaves the number on the app's icon as it is.
  public var badge: Int?
  public var categoryIdentifier: String
  public var threadIdentifier: String
  /// Files to add to those that came with the notification.
  public var attachments: [Attachment]
  /// The push's payload as JSON text; see ``userInfo``. It is not changed.
  public let payload: String

  public init(
    title: String = "", subtitle: String = "", body: String = "", badge: Int? = nil, categoryIdentifier: String = "",
    threadIdentifier: String = "", attachments: [Attachment] = [], payload: String = "{}"
  ) {
    self.title = title
    self.subtitle = subtitle
    self.body = body
    self.badge = badge
    self.categoryIdentifier = categoryIdentifier
    self.threadIdentifier = threadIdentifier
    self.attachments = attachments
    self.payload = payload
  }

  /// The push's payload.
  public var userInfo: [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data(payload.utf8))) as? [String: Any] ?? [:]
  }
}

/// A push as the system hands it to a service extension, before it is shown.
public struct DeliveredNotification: Sendable, Equatable {
  /// The identifier of the request.
  public var identifier: String
  public var content: NotificationContent
  public var hasSound: Bool
  /// passive 0, active 1, time-sensitive 2, critical 3; 0 before iOS 15.
  public var interruptionLevel: Int
  /// Unix time in milliseconds; nil means now.
  public var receivedAt: Int64?

  public init(
    identifier: String, content: NotificationContent, hasSound: Bool = false, interruptionLevel: Int = 0,
    receivedAt: Int64? = nil
  ) {
    self.identifier = identifier
    self.content = content
    self.hasSound = hasSound
    self.interruptionLevel = interruptionLevel
    self.receivedAt = receivedAt
  }
}

extension DeliveredNotification {
  /// As the store knows it.
  var received: ReceivedNotification {
    ReceivedNotification(
      identifier: identifier, title: content.title, body: content.body, categoryIdentifier: content.categoryIdentifier,
      threadIdentifier: content.threadIdentifier, bundleIdentifier: AppBundle.identifier, hasSound: hasSound,
      badge: content.badge ?? 0, interruptionLevel: interruptionLevel, source: .extension, receivedAt: receivedAt)
  }

  /// By which the app knows the push that it is shown with another content.
  var contentDigest: String { received.record(label: "").contentDigest }
}
