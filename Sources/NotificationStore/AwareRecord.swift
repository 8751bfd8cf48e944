import EncryptedSQLite

/// The fields that all AWARE records have.
public protocol AwareRecord: StoredRecord {
  /// Unix time in milliseconds.
  var timestamp: Int64 { get set }
  /// The AWARE device UUID; the store fills an empty one with its own.
  var deviceId: String { get set }
  var label: String { get set }
  /// Whole hours east of Greenwich, cut towards zero. ``timezoneOffset`` has the minutes.
  var timezone: Int { get set }
  var os: String { get set }
  /// The schema version that the record was written with.
  var jsonVersion: Int { get set }
  /// The record's identity wherever it is copied to: a UUID in lower case. The store fills an empty one.
  var recordId: String { get set }
  /// Minutes east of Greenwich.
  var timezoneOffset: Int { get set }

  /// The values that only this type has, in the order of its columns; for the identity of records of version 1.
  var contentValues: [SQLValue] { get }

  func toDictionary() -> [String: Any]
}

extension AwareRecord {
  static var leadingColumns: [String] { ["timestamp", "deviceId", "label", "timezone", "os", "jsonVersion"] }
  static var trailingColumns: [String] { ["recordId", "timezoneOffset"] }

  func bindLeading(to row: inout RowBinder) {
    row.append(timestamp)
    row.append(deviceId.isEmpty ? row.deviceId : deviceId)
    row.append(label)
    row.append(timezone)
    row.append(os)
    row.append(jsonVersion)
  }

  func bindTrailing(to row: inout RowBinder) {
    row.append(recordId.isEmpty ? RecordID.random() : recordId)
    row.append(timezoneOffset)
  }

  mutating func readCommon(_ dictionary: RecordDictionary) {
    id = dictionary.id
    timestamp = dictionary.int64("timestamp", default: timestamp)
    deviceId = dictionary.string("deviceId")
    label = dictionary.string("label")
    timezone = dictionary.int("timezone", default: timezone)
    os = dictionary.string("os").isEmpty ? os : dictionary.string("os")
    jsonVersion = dictionary.int("jsonVersion", default: jsonVersion)
    recordId = dictionary.string("recordId")
    let (minutes, isAbsurd) = timezone.multipliedReportingOverflow(by: 60)
    timezoneOffset = dictionary.int("timezoneOffset", default: isAbsurd ? 0 : minutes)
  }

  var commonDictionary: [String: Any] {
    [
      "id": id ?? -1, "timestamp": timestamp, "deviceId": deviceId, "label": label, "timezone": timezone, "os": os,
      "jsonVersion": jsonVersion, "recordId": recordId, "timezoneOffset": timezoneOffset,
    ]
  }

  /// An empty device id becomes the store's, an empty identity a new one.
  public func completed(deviceId: String) -> Self {
    var record = identified
    if record.deviceId.isEmpty { record.deviceId = deviceId }
    return record
  }

  /// The same with an identity, which it keeps wherever it goes.
  package var identified: Self {
    var record = self
    if record.recordId.isEmpty { record.recordId = RecordID.random() }
    return record
  }

  /// Completes a record of version 1 as `Migrations/v2` completes a stored row.
  mutating func upgrade() {
    if recordId.isEmpty {
      let identity: [SQLValue] = [
        .text(Self.databaseTableName), .text(deviceId), id.map(SQLValue.integer) ?? .null, .integer(timestamp),
      ]
      recordId = RecordID.derived(from: identity + contentValues)
    }
    jsonVersion = AwareRecordDefaults.jsonVersion
  }
}
