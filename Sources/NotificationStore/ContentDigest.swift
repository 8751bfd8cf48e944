import EncryptedSQLite

/// A digest of values in order: the first 16 bytes of SHA-256 over each value's kind, length and bytes.
///
/// The encoding is frozen, for stored digests and identities depend on it. A value is one byte for its kind (`i`, `r`,
/// `t`, `b`, `n`), its length in bytes as 8 bytes little-endian, and its bytes: integers as 8 bytes little-endian,
/// reals as their IEEE 754 bits likewise.
enum ContentDigest {
  static let size = 16

  static func bytes(of values: [SQLValue]) -> [UInt8] {
    var input: [UInt8] = []
    for value in values {
      switch value {
      case .null: append("n", [], to: &input)
      case .integer(let number): append("i", bytes(of: UInt64(bitPattern: number)), to: &input)
      case .real(let number): append("r", bytes(of: number.bitPattern), to: &input)
      case .text(let text): append("t", Array(text.utf8), to: &input)
      case .blob(let bytes): append("b", bytes, to: &input)
      }
    }
    return Array(PlatformCrypto.sha256(input)[..<size])
  }

  private static func append(_ kind: Unicode.Scalar, _ bytes: [UInt8], to input: inout [UInt8]) {
    input.append(UInt8(ascii: kind))
    input.append(contentsOf: self.bytes(of: UInt64(bytes.count)))
    input.append(contentsOf: bytes)
  }

  private static func bytes(of number: UInt64) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }
}

/// The same encoding written straight into memory, for one digest a row without an allocation.
struct ContentDigestInput: ~Copyable {
  private var target: UnsafeMutableRawBufferPointer
  private var used = 0

  /// The bytes that an integer takes, and a text beside its own.
  static let integerSize = 17
  static let textOverhead = 9

  init(_ target: UnsafeMutableRawBufferPointer) { self.target = target }

  mutating func append(_ number: Int) {
    header("i", count: 8)
    target.storeBytes(of: UInt64(bitPattern: Int64(number)).littleEndian, toByteOffset: used, as: UInt64.self)
    used += 8
  }

  mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { utf8 in
      header("t", count: utf8.count)
      UnsafeMutableRawBufferPointer(rebasing: target[used...]).copyMemory(from: UnsafeRawBufferPointer(utf8))
      used += utf8.count
    }
  }

  /// Calls `body` with the digest of what was appended.
  consuming func withDigest<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { digest in
      PlatformCrypto.sha256(UnsafeRawBufferPointer(rebasing: target[..<used]), into: digest)
      return try body(UnsafeRawBufferPointer(rebasing: digest[..<ContentDigest.size]))
    }
  }

  private mutating func header(_ kind: Unicode.Scalar, count: Int) {
    target[used] = UInt8(ascii: kind)
    target.storeBytes(of: UInt64(count).littleEndian, toByteOffset: used + 1, as: UInt64.self)
    used += Self.textOverhead
  }
}

extension NotificationData {
  /// The digest of the content as the system delivered it, in hexadecimal.
  package var contentDigest: String { withContentDigest { Hexadecimal.text($0) } }

  /// The bytes of a ``contentDigest``; nil for a text that is none.
  package static func digest(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count == 2 * ContentDigest.size, digits.allSatisfy(Hexadecimal.isDigit) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map {
      Hexadecimal.value(digits[$0]) << 4 | Hexadecimal.value(digits[$0 + 1])
    }
  }

  /// What makes two deliveries of a push the same: all that the system shows, and in which app.
  var deliveredValues: [SQLValue] {
    [
      .text(bundleIdentifier), .text(title), .text(body), .text(categoryIdentifier), .text(threadIdentifier),
      .text(sound), .integer(Int64(badge)), .integer(Int64(interruptionLevel)),
    ]
  }

  /// Calls `body` with the digest of the content as the system delivered it: that of ``deliveredValues``, unless it was
  /// taken before the content was changed.
  package func withContentDigest<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    if let deliveredDigest { return try deliveredDigest.withUnsafeBytes(body) }
    let texts =
      bundleIdentifier.utf8.count + title.utf8.count + self.body.utf8.count + categoryIdentifier.utf8.count
      + threadIdentifier.utf8.count + sound.utf8.count
    let size = texts + 6 * ContentDigestInput.textOverhead + 2 * ContentDigestInput.integerSize
    return try withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { buffer in
      var input = ContentDigestInput(buffer)
      input.append(bundleIdentifier)
      input.append(title)
      input.append(self.body)
      input.append(categoryIdentifier)
      input.append(threadIdentifier)
      input.append(sound)
      input.append(badge)
      input.append(interruptionLevel)
      return try input.withDigest(body)
    }
  }
}
