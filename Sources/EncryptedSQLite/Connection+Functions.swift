import CSQLCipher

extension Connection {
  /// Makes `function` callable from SQL under `name`, with any number of arguments.
  ///
  /// It must give the same result for the same arguments. It is called with the arguments in order.
  public func register(_ name: String, _ function: @escaping @Sendable ([SQLValue]) -> SQLValue) throws {
    let box = Unmanaged.passRetained(FunctionBox(function))
    let status = sqlite3_create_function_v2(
      handle, name, -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, box.toOpaque(),
      { context, count, values in
        guard let context, let user = sqlite3_user_data(context) else { return }
        let arguments = (0..<Int(count)).map { SQLValue(values?[$0]) }
        Unmanaged<FunctionBox>.fromOpaque(user).takeUnretainedValue().function(arguments).giveResult(to: context)
      }, nil, nil,
      { box in
        if let box { Unmanaged<FunctionBox>.fromOpaque(box).release() }
      })
    // SQLite has called the destructor when it failed.
    guard status == SQLITE_OK else { throw error(status) }
  }
}

private final class FunctionBox: Sendable {
  let function: @Sendable ([SQLValue]) -> SQLValue
  init(_ function: @escaping @Sendable ([SQLValue]) -> SQLValue) { self.function = function }
}

extension SQLValue {
  fileprivate init(_ value: OpaquePointer?) {
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: self = .integer(sqlite3_value_int64(value))
    case SQLITE_FLOAT: self = .real(sqlite3_value_double(value))
    case SQLITE_TEXT:
      let start = sqlite3_value_text(value)
      let count = Int(sqlite3_value_bytes(value))
      self = .text(String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self))
    case SQLITE_BLOB:
      let start = sqlite3_value_blob(value)
      self = .blob([UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))))
    default: self = .null
    }
  }

  fileprivate func giveResult(to context: OpaquePointer) {
    /// SQLITE_TRANSIENT, a macro that Swift cannot read: SQLite makes its own copy.
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    switch self {
    case .null: sqlite3_result_null(context)
    case .integer(let value): sqlite3_result_int64(context, value)
    case .real(let value): sqlite3_result_double(context, value)
    case .text(var value):
      value.withUTF8 {
        let text = UnsafeRawPointer($0.baseAddress)?.assumingMemoryBound(to: CChar.self)
        sqlite3_result_text64(context, text, UInt64($0.count), transient, UInt8(SQLITE_UTF8))
      }
    case .blob(let bytes):
      bytes.withUnsafeBytes { sqlite3_result_blob64(context, $0.baseAddress, UInt64($0.count), transient) }
    }
  }
}
