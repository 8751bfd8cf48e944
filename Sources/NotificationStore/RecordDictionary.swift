import Foundation

/// Lenient reading of a record's dictionary: a missing key, or a value of another type, gives the default.
struct RecordDictionary {
  private let values: [String: Any]

  init(_ values: [String: Any]) { self.values = values }

  func string(_ key: String) -> String { values[key] as? String ?? "" }

  func int64(_ key: String, default fallback: Int64 = 0) -> Int64 {
    switch values[key] {
    case let number as any BinaryInteger: Int64(clamping: number)
    case let number as Double: Int64(exactly: number.rounded(.towardZero)) ?? fallback
    case let number as NSNumber: number.int64Value
    default: fallback
    }
  }

  func int(_ key: String, default fallback: Int = 0) -> Int { Int(int64(key, default: Int64(fallback))) }

  /// The row's id: absent, or -1 as dictionaries write "none", is nil.
  var id: Int64? {
    let id = int64("id", default: -1)
    return id < 0 ? nil : id
  }

  /// Whether the dictionary was written by an older version of the schema than this one.
  ///
  /// Its record is then completed as the migration steps complete a stored row. A dictionary without a version is of
  /// the current one.
  var isOlder: Bool { int("jsonVersion", default: AwareRecordDefaults.jsonVersion) < AwareRecordDefaults.jsonVersion }
}

/// What every new record starts with.
enum AwareRecordDefaults {
  static let jsonVersion = 2
  static let os = "iOS"
}
