import CSQLCipher

extension Statement {
  /// Binds the first `count` values of `row`'s current row in their order, their storage classes and bytes as they are.
  package func bind(columns count: Int, of row: Statement) {
    for column in 0..<Int32(count) {
      note(sqlite3_bind_value(handle, column + 1, sqlite3_column_value(row.handle, column)))
    }
  }

  /// Whether the current rows of both have the same value at `column`: storage class, and every bit.
  package func hasSameValue(at column: Int32, as other: Statement) -> Bool {
    let kind = kind(at: column)
    guard kind == other.kind(at: column) else { return false }
    return switch kind {
    case .null: true
    case .integer: int64(at: column) == other.int64(at: column)
    case .real: double(at: column).bitPattern == other.double(at: column).bitPattern
    case .text:
      withText(at: column) { text in other.withText(at: column) { text.elementsEqual($0) } }
    case .blob:
      withBlob(at: column) { bytes in other.withBlob(at: column) { bytes.elementsEqual($0) } }
    }
  }
}
