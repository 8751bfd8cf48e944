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

  func bind(to row: inout RowBinder)
  /// Reads the current row: `id`, then `columns`.
  init(row: inout RowReader)
}

extension StoredRecord {
  public static var writeOnlyColumns: [String] { [] }
}

/// Gives a statement its values in order.
public struct RowBinder {
  private let statement: Statement
  /// What an empty device id is stored as.
  public let deviceId: String
  private var index: Int32 = 0

  public init(_ statement: Statement, deviceId: String) {
    self.statement = statement
    self.deviceId = deviceId
  }

  public mutating func append(_ value: Int64) {
    index += 1
    statement.bind(value, at: index)
  }

  public mutating func append(_ value: Int) { append(Int64(value)) }

  public mutating func append(_ text: String) {
    index += 1
    statement.bind(text, at: index)
  }

  public mutating func append(blob: UnsafeRawBufferPointer) {
    index += 1
    statement.bind(blob: blob, at: index)
  }

  public mutating func appendNull() {
    index += 1
    statement.bindNull(at: index)
  }
}

/// Takes the values of a statement's current row in order.
public struct RowReader {
  private let statement: Statement
  private var index: Int32 = -1

  public init(_ statement: Statement) { self.statement = statement }

  public mutating func int64() -> Int64 {
    index += 1
    return statement.int64(at: index)
  }

  public mutating func int() -> Int { Int(int64()) }

  /// The text of the column, "" when it is null.
  public mutating func string() -> String {
    index += 1
    return statement.string(at: index)
  }
}
