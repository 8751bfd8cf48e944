import EncryptedSQLite

/// A background push: a row of `ios_silent_push`.
public struct SilentPushData: AwareRecord, Equatable {
  public static let databaseTableName = "ios_silent_push"
  public static let TABLE_NAME = databaseTableName

  public var id: Int64?
  public var timestamp: Int64 = 0
  public var deviceId = ""
  public var label = ""
  public var timezone = 0
  public var os = AwareRecordDefaults.os
  public var jsonVersion = AwareRecordDefaults.jsonVersion

  /// The whole push as JSON text.
  public var payload = ""

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
    payload = dictionary.string("payload")
    if dictionary.isOlder { upgrade() }
  }

  public func toDictionary() -> [String: Any] {
    commonDictionary.merging(["payload": payload]) { $1 }
  }

  public var contentValues: [Value] { [.text(payload)] }
}

// MARK: Storing

extension SilentPushData {
  public static let columns = leadingColumns + ["payload"] + trailingColumns

  public func bind(to row: inout RowBinder) {
    bindLeading(to: &row)
    row.append(payload)
    bindTrailing(to: &row)
  }

  public init(row: inout RowReader) {
    readLeading(&row)
    payload = row.string()
    readTrailing(&row)
  }
}
