import EncryptedSQLite

/// JSON text (RFC 8259) written straight as UTF-8.
struct JSONText {
  private(set) var bytes: [UInt8] = []

  /// Text that is JSON already: punctuation, or a literal.
  mutating func append(raw text: String) { bytes.append(contentsOf: text.utf8) }

  mutating func append(_ number: Int64) { bytes.append(contentsOf: String(number).utf8) }

  /// Appends a number with a fraction or an exponent; null for what JSON has no number for.
  mutating func append(_ number: Double) { append(raw: number.isFinite ? "\(number)" : "null") }

  /// Appends `text` as a JSON string. What is not UTF-8 is replaced by U+FFFD.
  mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
    bytes.append(UInt8(ascii: "\""))
    if text.allSatisfy({ $0 < 0x80 }) {
      appendEscaped(text)
    } else {
      var valid = String(decoding: text, as: UTF8.self)
      valid.withUTF8 { appendEscaped($0) }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { append($0) }
  }

  /// RFC 8259, section 7: quotation mark, reverse solidus and the control characters are escaped. So are U+007F to
  /// U+009F, which terminals obey as well.
  private mutating func appendEscaped(_ text: UnsafeBufferPointer<UInt8>) {
    var start = 0
    var previous: UInt8 = 0
    for (index, byte) in text.enumerated() {
      // In UTF-8, U+0080 to U+009F are C2 and the number itself.
      let isSecondControl = previous == 0xc2 && byte < 0xa0
      previous = byte
      guard byte < 0x20 || byte == 0x7f || isSecondControl || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
      else { continue }
      bytes.append(contentsOf: text[start..<(isSecondControl ? index - 1 : index)])
      start = index + 1
      switch byte {
      case UInt8(ascii: "\""): append(raw: "\\\"")
      case UInt8(ascii: "\\"): append(raw: "\\\\")
      case UInt8(ascii: "\n"): append(raw: "\\n")
      case UInt8(ascii: "\r"): append(raw: "\\r")
      case UInt8(ascii: "\t"): append(raw: "\\t")
      default: append(raw: "\\u00" + Hexadecimal.text([byte]))
      }
    }
    bytes.append(contentsOf: text[start...])
  }
}
