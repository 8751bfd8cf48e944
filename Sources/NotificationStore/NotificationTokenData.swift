import EncryptedSQLite

/// The device's APNs token: a row of `ios_notification_token`.
public struct NotificationTokenData: AwareRecord, Equatable {
  public static let databaseTableName = "ios_notification_token"
  public static let TABLE_NAME = databaseTableName

  public var id: Int64?
  public var timestamp: Int64 = 0
  public var deviceId = ""
  public var label = ""
  public var timezone = 0
  public var os = AwareRecordDefaults.os
  public var jsonVersion = AwareRecordDefaults.jsonVersion

  /// The token in hexadecimal.
  public var token = ""

  public var recordId = ""
  public var timezoneOffset = 0

  /// - Parameter timestamp: Unix time in milliseconds.
  public init(timestamp: Int64 = Clock.milliseconds(), label: String = "") {
    self.timestamp = timestamp
    self.label = label
    timezoneOffset = Clock.offsetInMinutes(at: timestamp)
    timezone = timezoneOffset / 60
    recordId = RecordID.random()
  }

  /// Reads what ``toDictionary()`` gives; missing keys take the defaults.
  public init(_ dict: [String: Any]) {
    let dictionary = RecordDictionary(dict)
    self.init()
    readCommon(dictionary)
    token = dictionary.string("token")
    if dictionary.isOlder { upgrade() }
  }

  public func toDictionary() -> [String: Any] {
    commonDictionary.merging(["token": token]) { $1 }
  }

  public var contentValues: [Value] { [.text(token)] }
}

// MARK: Storing

extension NotificationTokenData {
  public static let columns = leadingColumns + ["token"] + trailingColumns

  public func bind(to row: inout RowBinder) {
    bindLeading(to: &row)
    row.append(token)
    bindTrailing(to: &row)
  }

  public init(row: inout RowReader) {
    readLeading(&row)
    token = row.string()
    readTrailing(&row)
  }
}
