import EncryptedSQLite

/// Reads one JSON text by the grammar of RFC 8259, and takes nothing else: UTF-8 without a byte order mark, and nothing
/// after the value but blanks.
package struct JSONScanner {
  /// Why a text was refused; holds nothing of the text.
  package struct Malformed: Error {}

  /// As deep as JSONSerialization goes: arrays and objects within each other.
  package static let maximumDepth = 512

  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0

  private init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  /// - Throws: ``Malformed``.
  package static func value(of text: ArraySlice<UInt8>) throws -> JSONValue {
    try text.withUnsafeBufferPointer { bytes in
      var scanner = JSONScanner(bytes)
      scanner.skipBlanks()
      let value = try scanner.value(depth: 1)
      scanner.skipBlanks()
      guard scanner.position == bytes.count else { throw Malformed() }
      return value
    }
  }

  /// Whether `byte` is a blank between the parts of a JSON text.
  package static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
  }

  // MARK: Bytes

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  /// Passes over `byte` if it is the next one.
  private mutating func take(_ byte: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: byte) else { return false }
    position += 1
    return true
  }

  private mutating func skipBlanks() {
    while let byte = next, Self.isBlank(byte) { position += 1 }
  }

  // MARK: Values

  private mutating func value(depth: Int) throws -> JSONValue {
    switch next {
    case UInt8(ascii: "{"): return try object(depth)
    case UInt8(ascii: "["): return try array(depth)
    case UInt8(ascii: "\""): return .text(try text())
    case UInt8(ascii: "t"): return try literal("true", .bool(true))
    case UInt8(ascii: "f"): return try literal("false", .bool(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    default: return try number()
    }
  }

  private mutating func literal(_ text: StaticString, _ value: JSONValue) throws -> JSONValue {
    let letters = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    guard bytes[position...].starts(with: letters) else { throw Malformed() }
    position += letters.count
    return value
  }

  private mutating func array(_ depth: Int) throws -> JSONValue {
    guard depth <= Self.maximumDepth else { throw Malformed() }
    position += 1
    skipBlanks()
    if take("]") { return .array([]) }
    var values: [JSONValue] = []
    repeat {
      skipBlanks()
      values.append(try value(depth: depth + 1))
      skipBlanks()
    } while take(",")
    guard take("]") else { throw Malformed() }
    return .array(values)
  }

  private mutating func object(_ depth: Int) throws -> JSONValue {
    guard depth <= Self.maximumDepth else { throw Malformed() }
    position += 1
    skipBlanks()
    if take("}") { return .object([]) }
    var members: [JSONValue.Member] = []
    repeat {
      skipBlanks()
      guard next == UInt8(ascii: "\"") else { throw Malformed() }
      let key = try text()
      skipBlanks()
      guard take(":") else { throw Malformed() }
      skipBlanks()
      let start = position
      let value = try value(depth: depth + 1)
      members.append(.init(key: key, value: value, range: start..<position))
      skipBlanks()
    } while take(",")
    guard take("}") else { throw Malformed() }
    return .object(members)
  }

  private mutating func number() throws -> JSONValue {
    let start = position
    _ = take("-")
    if !take("0") { try digits() }
    if take(".") { try digits() }
    if take("e") || take("E") {
      if !take("+") { _ = take("-") }
      try digits()
    }
    return .number(String(decoding: bytes[start..<position], as: UTF8.self))
  }

  /// One digit or more.
  private mutating func digits() throws {
    let start = position
    while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
    guard position > start else { throw Malformed() }
  }

  // MARK: Texts

  private mutating func text() throws -> String {
    position += 1
    var text: [UInt8] = []
    var start = position
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        let rest = bytes[start..<position]
        position += 1
        return text.isEmpty ? String(decoding: rest, as: UTF8.self) : String(decoding: text + rest, as: UTF8.self)
      case UInt8(ascii: "\\"):
        text.append(contentsOf: bytes[start..<position])
        position += 1
        text.append(contentsOf: String(try escaped()).utf8)
        start = position
      case 0..<0x20: throw Malformed()
      case 0x20..<0x80: position += 1
      default: try skipScalar(byte)
      }
    }
    throw Malformed()
  }

  /// Passes over one scalar of several bytes, as RFC 3629, section 4, has them.
  private mutating func skipScalar(_ first: UInt8) throws {
    let (count, second): (Int, ClosedRange<UInt8>) =
      switch first {
      case 0xc2...0xdf: (2, 0x80...0xbf)
      case 0xe0: (3, 0xa0...0xbf)
      case 0xed: (3, 0x80...0x9f)
      case 0xe1...0xef: (3, 0x80...0xbf)
      case 0xf0: (4, 0x90...0xbf)
      case 0xf1...0xf3: (4, 0x80...0xbf)
      case 0xf4: (4, 0x80...0x8f)
      default: throw Malformed()
      }
    guard bytes.count - position >= count, second.contains(bytes[position + 1]),
      bytes[(position + 2)..<(position + count)].allSatisfy({ (0x80...0xbf).contains($0) })
    else { throw Malformed() }
    position += count
  }

  /// What follows a reverse solidus.
  private mutating func escaped() throws -> Unicode.Scalar {
    guard let letter = next else { throw Malformed() }
    position += 1
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{c}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      let unit = try hexadecimal()
      guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) ?? Self.replacement }
      let afterFirst = position
      if take("\\"), take("u"), case let second = try hexadecimal(), UTF16.isTrailSurrogate(second) {
        let bits = 0x10000 + (UInt32(unit) - 0xd800) << 10 | (UInt32(second) - 0xdc00)
        return Unicode.Scalar(bits) ?? Self.replacement
      }
      position = afterFirst
      return Self.replacement
    default: throw Malformed()
    }
  }

  /// What a lone surrogate becomes.
  private static let replacement: Unicode.Scalar = "\u{fffd}"

  private mutating func hexadecimal() throws -> UInt16 {
    guard bytes.count - position >= 4 else { throw Malformed() }
    let digits = bytes[position..<(position + 4)]
    guard digits.allSatisfy(Hexadecimal.isDigit) else { throw Malformed() }
    position += 4
    return digits.reduce(0) { $0 << 4 | UInt16(Hexadecimal.value($1)) }
  }
}
