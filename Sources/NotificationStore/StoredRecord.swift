import EncryptedSQLite

/// A type whose values are rows of one table, as ``Repository`` stores and reads them.
///
/// The table has an integer primary key `id`. Another AWARE sensor can store its own type by conforming, with a
/// migration that makes its table.
public protocol StoredRecord: Sendable {
  static var databaseTableName: String { get }
  /// The columns beside `id`, in the order in which ``bind(to:)`` gives them and ``init(row:)`` takes them.
  static var columns: [String] { get }
  /// Columns that ``bind(to:)`` gives after `columns` and that are not read back.
  static var writeOnlyColumns: [String] { get }

  /// The row's id; nil before it is stored.
  var id: Int64? { get set }

  /// The record as it is stored where the store's device id is `deviceId`: with what the store fills in.
  func completed(deviceId: String) -> Self

  func bind(to row: inout RowBinder)
  /// Reads the current row: `id`, then `columns`.
  init(row: inout RowReader)
}

extension StoredRecord {
  public static var writeOnlyColumns: [String] { [] }

  public func completed(deviceId: String) -> Self { self }
}

/// Gives a statement its values in order.
public struct RowBinder {
  /// Held by who made the binder; counting the reference at each value would cost more than the value.
  private let statement: Unmanaged<Statement>
  /// What an empty device id is stored as.
  public let deviceId: String
  private var index: Int32 = 0

  public init(_ statement: Statement, deviceId: String) {
    self.statement = .passUnretained(statement)
    self.deviceId = deviceId
  }

  public mutating func append(_ value: Int64) {
    index += 1
    statement._withUnsafeGuaranteedRef { $0.bind(value, at: index) }
  }

  public mutating func append(_ value: Int) { append(Int64(value)) }

  public mutating func append(_ text: String) {
    index += 1
    statement._withUnsafeGuaranteedRef { $0.bind(text, at: index) }
  }

  public mutating func append(blob: UnsafeRawBufferPointer) {
    index += 1
    statement._withUnsafeGuaranteedRef { $0.bind(blob: blob, at: index) }
  }

  public mutating func appendNull() {
    index += 1
    statement._withUnsafeGuaranteedRef { $0.bindNull(at: index) }
  }
}

/// Takes the values of a statement's current row in order.
public struct RowReader {
  /// Held by who made the reader; counting the reference at each value would cost more than the value.
  private let statement: Unmanaged<Statement>
  private var index: Int32 = -1

  public init(_ statement: Statement) { self.statement = .passUnretained(statement) }

  public mutating func int64() -> Int64 {
    index += 1
    return statement._withUnsafeGuaranteedRef { $0.int64(at: index) }
  }

  public mutating func int() -> Int { Int(int64()) }

  /// The text of the column, "" when it is null.
  public mutating func string() -> String {
    index += 1
    return statement._withUnsafeGuaranteedRef { $0.string(at: index) }
  }
}
