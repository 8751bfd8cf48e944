import EncryptedSQLite
import Foundation

/// The records that one push makes: a visible notification, a silent push, or both.
///
/// `content-available: 1` (number or text) makes a ``SilentPushData`` with the whole payload; a visible part makes a
/// ``NotificationData``; a push with neither is kept whole as a silent push. Visible is one of:
///
/// - an alert that is a text and not empty, or an object in which `title`, `subtitle`, `body`, `title-loc-key`,
///   `subtitle-loc-key` or `loc-key` is one;
/// - a sound that is a text and not empty, or an object with such a `name` or with `critical` 1;
/// - a badge that is a number, 0 included, and not a Boolean.
public struct PushRecords: Sendable, Equatable {
  public var notification: NotificationData?
  public var silentPush: SilentPushData?

  public init(notification: NotificationData? = nil, silentPush: SilentPushData? = nil) {
    self.notification = notification
    self.silentPush = silentPush
  }

  /// Reads an APNs payload, what a push's `userInfo` holds.
  ///
  /// - Parameters:
  ///   - identifier: the request's identifier, of a silent push the identifier that its sender gave it; "" when there is
  ///     none, and then the push is never merged with another.
  ///   - bundle: the bundle identifier of the receiving app.
  ///   - receivedAt: Unix time in milliseconds.
  public init(
    payload: [AnyHashable: Any], identifier: String = "", bundle: String = "",
    receivedAt: Int64 = UnixTime.milliseconds(), source: NotificationSource = .foreground, label: String = ""
  ) {
    self.init(
      payload: payload, text: PayloadJSON.text(payload), identifier: identifier, bundle: bundle,
      receivedAt: receivedAt, source: source, label: label)
  }

  /// - Parameter text: the payload as JSON text.
  package init(
    payload: [AnyHashable: Any], text: @autoclosure () -> String, identifier: String, bundle: String,
    receivedAt: Int64, source: NotificationSource, label: String
  ) {
    let aps = APSDictionary(payload)
    if aps.isVisible {
      var data = NotificationData(timestamp: receivedAt, label: label)
      data.notificationId = identifier
      data.bundleIdentifier = bundle
      data.source = source
      aps.fill(&data)
      notification = data
    }
    if aps.isSilent || !aps.isVisible {
      var data = SilentPushData(timestamp: receivedAt, label: label)
      data.payload = text()
      if !identifier.isEmpty { data.identify(by: identifier) }
      silentPush = data
    }
  }
}

/// The `aps` dictionary of a payload, by the keys of Apple's "Generating a remote notification".
private struct APSDictionary {
  private let values: [AnyHashable: Any]

  init(_ payload: [AnyHashable: Any]) { values = payload["aps"] as? [AnyHashable: Any] ?? [:] }

  /// A key that is there; null counts as absent.
  private func value(_ key: String) -> Any? {
    guard let value = values[key], !(value is NSNull) else { return nil }
    return value
  }

  private static func isText(_ value: Any?) -> Bool { (value as? String)?.isEmpty == false }

  var isVisible: Bool { isAlertSet || isSoundSet || badge != nil }

  private static let alertTexts = ["title", "subtitle", "body", "title-loc-key", "subtitle-loc-key", "loc-key"]

  private var isAlertSet: Bool {
    guard let alert = value("alert") as? [AnyHashable: Any] else { return Self.isText(value("alert")) }
    return Self.alertTexts.contains { Self.isText(alert[$0]) }
  }

  private var isSoundSet: Bool {
    guard let sound = value("sound") as? [AnyHashable: Any] else { return Self.isText(value("sound")) }
    return Self.isText(sound["name"]) || Self.number(sound["critical"])?.doubleValue == 1
  }

  private var badge: NSNumber? { Self.number(value("badge")) }

  /// A number that is not a Boolean: of true and false there is one `NSNumber` each.
  private static func number(_ value: Any?) -> NSNumber? {
    guard let number = value as? NSNumber, number !== NSNumber(value: true), number !== NSNumber(value: false) else {
      return nil
    }
    return number
  }

  var isSilent: Bool {
    switch value("content-available") {
    case let text as String: text == "1"
    case let number as NSNumber: number.intValue == 1
    default: false
    }
  }

  func fill(_ data: inout NotificationData) {
    switch value("alert") {
    case let text as String: data.body = text
    case let alert as [AnyHashable: Any]:
      // `title-loc-key` and `loc-key` name texts of the app, which are not known here.
      data.title = alert["title"] as? String ?? ""
      data.body = alert["body"] as? String ?? ""
    default: break
    }
    data.badge = badge.flatMap { Int(exactly: $0) } ?? 0
    data.sound = isSoundSet ? "default" : ""
    data.categoryIdentifier = value("category") as? String ?? ""
    data.threadIdentifier = value("thread-id") as? String ?? ""
    data.interruptionLevel = Self.level(value("interruption-level") as? String)
  }

  /// The raw values of `UNNotificationInterruptionLevel`; a payload that names none is active.
  private static func level(_ name: String?) -> Int {
    switch name {
    case "passive": 0
    case "time-sensitive": 2
    case "critical": 3
    default: 1
    }
  }
}
