import Foundation
import NotificationStore

/// A notification as the system hands it over: what of `UNNotification` is recorded.
public struct ReceivedNotification: Sendable, Equatable {
  /// The identifier of the request.
  public var identifier: String
  public var title: String
  public var body: String
  public var categoryIdentifier: String
  public var threadIdentifier: String
  /// The app that received it: the running one, unless given.
  public var bundleIdentifier: String
  /// Whether it makes a sound.
  public var hasSound: Bool
  /// The number on the app's icon; 0 when it sets none.
  public var badge: Int
  /// passive 0, active 1, time-sensitive 2, critical 3; 0 before iOS 15.
  public var interruptionLevel: Int
  /// `foreground` for a delivery, `response` when the person acted on it.
  public var source: NotificationSource
  /// Unix time in milliseconds.
  public var receivedAt: Int64
  /// The digest of the content as the system delivered it, where a service extension has changed it since: 32 hexadecimal
  /// digits. By it app and extension know the push for one.
  package var contentDigest: String?

  /// Where in the payload an extension leaves the digest of a content that it changes.
  package static let contentDigestKey = "aware.contentDigest"

  public init(
    identifier: String, title: String = "", body: String = "", categoryIdentifier: String = "",
    threadIdentifier: String = "", bundleIdentifier: String = Bundle.main.bundleIdentifier ?? "",
    hasSound: Bool = false, badge: Int = 0, interruptionLevel: Int = 0, source: NotificationSource = .foreground,
    receivedAt: Int64? = nil
  ) {
    self.identifier = identifier
    self.title = title
    self.body = body
    self.categoryIdentifier = categoryIdentifier
    self.threadIdentifier = threadIdentifier
    self.bundleIdentifier = bundleIdentifier
    self.hasSound = hasSound
    self.badge = badge
    self.interruptionLevel = interruptionLevel
    self.source = source
    self.receivedAt = receivedAt ?? UnixTime.milliseconds()
  }

  package func record(label: String) -> NotificationData {
    var data = NotificationData(timestamp: receivedAt, label: label)
    data.notificationId = identifier
    data.title = title
    data.body = body
    data.categoryIdentifier = categoryIdentifier
    data.threadIdentifier = threadIdentifier
    data.bundleIdentifier = bundleIdentifier
    data.sound = hasSound ? "default" : ""
    data.badge = badge
    data.interruptionLevel = interruptionLevel
    data.source = source
    data.deliveredDigest = contentDigest.flatMap { NotificationData.digest($0) }
    return data
  }
}
