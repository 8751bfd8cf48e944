/// A value for a parameter of a statement.
public enum SQLValue: Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])
}

extension SQLValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByNilLiteral {
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(stringLiteral value: String) { self = .text(value) }
  public init(nilLiteral: ()) { self = .null }
}

extension Statement {
  /// Binds `values` to the parameters 1, 2, 3 and so on.
  public func bind(_ values: [SQLValue]) {
    for (index, value) in zip(Int32(1)..., values) {
      switch value {
      case .null: bindNull(at: index)
      case .integer(let value): bind(value, at: index)
      case .real(let value): bind(value, at: index)
      case .text(let value): bind(value, at: index)
      case .blob(let bytes): bytes.withUnsafeBytes { bind(blob: $0, at: index) }
      }
    }
  }
}
