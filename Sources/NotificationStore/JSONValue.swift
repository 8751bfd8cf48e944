import Foundation

/// A JSON value (RFC 8259) as ``JSONScanner`` reads it.
package enum JSONValue: Sendable {
  case null
  case bool(Bool)
  /// A number as it is written: no digit is lost, and none is too large.
  case number(String)
  /// A lone surrogate of the JSON text is U+FFFD here.
  case text(String)
  case array([JSONValue])
  /// The members in their order, duplicate keys included.
  case object([Member])

  package struct Member: Sendable {
    package let key: String
    package let value: JSONValue
    /// Where the value is in the JSON text, in bytes from its start.
    package let range: Range<Int>
  }

  /// The same as JSONSerialization would give it; of duplicate keys the last wins. A number beyond `Double` is infinite.
  package var foundation: Any {
    switch self {
    case .null: NSNull()
    case .bool(let value): NSNumber(value: value)
    case .number(let text):
      Int64(text).map { NSNumber(value: $0) } ?? UInt64(text).map { NSNumber(value: $0) }
        ?? NSNumber(value: Double(text) ?? .nan)
    case .text(let text): text
    case .array(let values): values.map(\.foundation)
    case .object(let members): Dictionary(members.map { ($0.key, $0.value.foundation) }) { $1 }
    }
  }
}

extension [JSONValue.Member] {
  /// The member of this key: the last, where there are several. Keys are compared by their bytes, not as Unicode
  /// compares texts.
  package subscript(_ key: String) -> JSONValue.Member? { last { $0.key.utf8.elementsEqual(key.utf8) } }
}
