import EncryptedSQLite

/// A visible notification: a row of `ios_notification`.
public struct NotificationData: AwareRecord, Equatable {
  public static let databaseTableName = "ios_notification"
  public static let TABLE_NAME = databaseTableName

  public var id: Int64?
  public var timestamp: Int64
  public var deviceId = ""
  public var label = ""
  public var timezone: Int
  public var os = AwareRecordDefaults.os
  public var jsonVersion = AwareRecordDefaults.jsonVersion

  /// The identifier of the `UNNotificationRequest`.
  public var notificationId = ""
  public var title = ""
  public var body = ""
  public var categoryIdentifier = ""
  /// The bundle identifier of the app that received the notification.
  public var bundleIdentifier = ""
  /// "default" if a sound was set, else "".
  public var sound = ""
  /// 0 when the notification set none.
  public var badge = 0
  public var threadIdentifier = ""
  /// passive 0, active 1, time-sensitive 2, critical 3; 0 before iOS 15.
  public var interruptionLevel = 0

  public var recordId: String
  public var timezoneOffset: Int
  public var source = NotificationSource.foreground
  /// The digest of the content as the system delivered it, where that is not what the fields hold now.
  package var deliveredDigest: [UInt8]?
}

// Initializers stand outside the type, so that it keeps its memberwise one, by which `init(row:)` fills a record
// without a copy. What `init(timestamp:label:)` sets has no default: so the one cannot be taken for the other.
extension NotificationData {
  /// - Parameter timestamp: Unix time in milliseconds.
  public init(timestamp: Int64 = UnixTime.milliseconds(), label: String = "") {
    self.timestamp = timestamp
    self.label = label
    timezoneOffset = UnixTime.offsetInMinutes(at: timestamp)
    timezone = timezoneOffset / 60
    recordId = RecordID.random()
  }

  /// Reads what ``toDictionary()`` gives; missing keys take the defaults.
  public init(_ dict: [String: Any]) {
    let dictionary = RecordDictionary(dict)
    self.init()
    readCommon(dictionary)
    notificationId = dictionary.string("notificationId")
    title = dictionary.string("title")
    body = dictionary.string("body")
    categoryIdentifier = dictionary.string("categoryIdentifier")
    bundleIdentifier = dictionary.string("bundleIdentifier")
    sound = dictionary.string("sound")
    badge = dictionary.int("badge")
    threadIdentifier = dictionary.string("threadIdentifier")
    interruptionLevel = dictionary.int("interruptionLevel")
    source = NotificationSource(rawValue: dictionary.string("source")) ?? (dictionary.isOlder ? .import : .foreground)
    if dictionary.isOlder { upgrade() }
  }

  public func toDictionary() -> [String: Any] {
    commonDictionary.merging([
      "notificationId": notificationId, "title": title, "body": body, "categoryIdentifier": categoryIdentifier,
      "bundleIdentifier": bundleIdentifier, "sound": sound, "badge": badge, "threadIdentifier": threadIdentifier,
      "interruptionLevel": interruptionLevel, "source": source.rawValue,
    ]) { $1 }
  }

  public var contentValues: [SQLValue] {
    [
      .text(notificationId), .text(title), .text(body), .text(categoryIdentifier), .text(bundleIdentifier),
      .text(sound), .integer(Int64(badge)), .text(threadIdentifier), .integer(Int64(interruptionLevel)),
    ]
  }
}

// MARK: Storing

extension NotificationData {
  public static let columns =
    leadingColumns + [
      "notificationId", "title", "body", "categoryIdentifier", "bundleIdentifier", "sound", "badge", "threadIdentifier",
      "interruptionLevel",
    ] + trailingColumns + ["source"]

  public static let writeOnlyColumns = ["contentDigest"]

  public func bind(to row: inout RowBinder) {
    bindLeading(to: &row)
    row.append(notificationId)
    row.append(title)
    row.append(body)
    row.append(categoryIdentifier)
    row.append(bundleIdentifier)
    row.append(sound)
    row.append(badge)
    row.append(threadIdentifier)
    row.append(interruptionLevel)
    bindTrailing(to: &row)
    row.append(source.rawValue)
    if source == .import {
      row.appendNull()
    } else {
      withContentDigest { row.append(blob: $0) }
    }
  }

  public init(row: inout RowReader) {
    self.init(
      id: row.int64(), timestamp: row.int64(), deviceId: row.string(), label: row.string(), timezone: row.int(),
      os: row.string(), jsonVersion: row.int(), notificationId: row.string(), title: row.string(), body: row.string(),
      categoryIdentifier: row.string(), bundleIdentifier: row.string(), sound: row.string(), badge: row.int(),
      threadIdentifier: row.string(), interruptionLevel: row.int(), recordId: row.string(), timezoneOffset: row.int(),
      source: NotificationSource(rawValue: row.string()) ?? .import)
  }
}
