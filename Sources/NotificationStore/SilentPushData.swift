import EncryptedSQLite

/// A background push: a row of `ios_silent_push`.
public struct SilentPushData: AwareRecord, Equatable {
  public static let databaseTableName = "ios_silent_push"
  public static let TABLE_NAME = databaseTableName

  public var id: Int64?
  public var timestamp: Int64
  public var deviceId = ""
  public var label = ""
  public var timezone: Int
  public var os = AwareRecordDefaults.os
  public var jsonVersion = AwareRecordDefaults.jsonVersion

  /// The whole push as JSON text.
  public var payload = ""

  public var recordId: String
  public var timezoneOffset: Int
  /// The identifier that the push itself brings; "" where it has none.
  public var pushId = ""
}

// Initializers stand outside the type, so that it keeps its memberwise one, by which `init(row:)` fills a record
// without a copy. What `init(timestamp:label:)` sets has no default: so the one cannot be taken for the other.
extension SilentPushData {
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
    payload = dictionary.string("payload")
    pushId = dictionary.string("pushId")
    if dictionary.isOlder { upgrade() }
  }

  /// Has `pushId` only where there is one.
  public func toDictionary() -> [String: Any] {
    var dictionary = commonDictionary
    dictionary["payload"] = payload
    if !pushId.isEmpty { dictionary["pushId"] = pushId }
    return dictionary
  }

  public var contentValues: [SQLValue] { [.text(payload)] }

  /// Gives it an identifier, and the identity that follows from identifier, timestamp and payload: recorded twice, it is
  /// one record.
  mutating func identify(by pushId: String) {
    self.pushId = pushId
    recordId = RecordID.derived(
      from: [.text(Self.databaseTableName), .text(pushId), .integer(timestamp), .text(payload)])
  }
}

// MARK: Storing

extension SilentPushData {
  public static let columns = leadingColumns + ["payload"] + trailingColumns + ["pushId"]

  public func bind(to row: inout RowBinder) {
    bindLeading(to: &row)
    row.append(payload)
    bindTrailing(to: &row)
    row.append(pushId)
  }

  public init(row: inout RowReader) {
    self.init(
      id: row.int64(), timestamp: row.int64(), deviceId: row.string(), label: row.string(), timezone: row.int(),
      os: row.string(), jsonVersion: row.int(), payload: row.string(), recordId: row.string(),
      timezoneOffset: row.int(), pushId: row.string())
  }
}
