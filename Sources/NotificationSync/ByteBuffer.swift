/// Bytes that are appended one after the other, in memory that grows and is used again.
final class ByteBuffer {
  private var start: UnsafeMutablePointer<UInt8>
  private var capacity: Int
  private(set) var count = 0

  init(capacity: Int = 1 << 12) {
    self.capacity = capacity
    start = .allocate(capacity: capacity)
  }

  deinit { start.deallocate() }

  var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: start, count: count) }

  @inline(__always)
  func bytes(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: start + range.lowerBound, count: range.count)
  }

  /// Appends a part of `other`, which has ``shortest`` bytes of room behind it: a call to copy so few bytes would take longer
  /// than copying some too many.
  @inline(__always)
  func append(_ range: Range<Int>, of other: ByteBuffer) {
    guard range.count <= Self.shortest else { return append(other.bytes(range)) }
    reserve(Self.shortest)
    let bytes = UnsafeRawPointer(other.start + range.lowerBound).loadUnaligned(as: SIMD32<UInt8>.self)
    UnsafeMutableRawPointer(start + count).storeBytes(of: bytes, as: SIMD32<UInt8>.self)
    count += range.count
  }

  static let shortest = 32
  func reserveShortest() { reserve(Self.shortest) }

  func truncate(to count: Int) { self.count = count }

  @inline(__always)
  private func reserve(_ more: Int) {
    if capacity - count < more { grow(more) }
  }

  private func grow(_ more: Int) {
    let wider = max(2 * capacity, count + more)
    let new = UnsafeMutablePointer<UInt8>.allocate(capacity: wider)
    new.update(from: start, count: count)
    start.deallocate()
    start = new
    capacity = wider
  }

  @inline(__always)
  func append(_ byte: UInt8) {
    reserve(1)
    start[count] = byte
    count += 1
  }

  @inline(__always)
  func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let source = bytes.baseAddress else { return }
    reserve(bytes.count)
    (start + count).update(from: source, count: bytes.count)
    count += bytes.count
  }

  @inline(__always)
  func append(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { append($0) } }

  func append(_ text: String) {
    var text = text
    text.withUTF8 { append($0) }
  }

  /// Appends `value` in decimal.
  func append(decimal value: Int64) {
    // The digits come last first, and there are at most 19 of them.
    reserve(2 * Self.longestDecimal)
    if value < 0 { append(UInt8(ascii: "-")) }
    var rest = value.magnitude
    let end = start + count + 2 * Self.longestDecimal - 1
    var first = end
    repeat {
      first -= 1
      let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
      first.pointee = UInt8(truncatingIfNeeded: digit) + UInt8(ascii: "0")
      rest = quotient
    } while rest > 0
    (start + count).update(from: first, count: end - first)
    count += end - first
  }

  private static let longestDecimal = 20

  // MARK: JSON

  /// Appends `text` as a JSON string (RFC 8259, section 7), with `"` around it.
  ///
  /// - Parameter escapingPercent: whether `%` becomes `\u0025`, for servers that look for `%00` and the like in what they
  ///   have decoded already.
  /// - Returns: false when the bytes are not UTF-8; what was appended is then to be cut off again.
  func append(json text: UnsafeBufferPointer<UInt8>, escapingPercent: Bool) -> Bool {
    append(UInt8(ascii: "\""))
    var position = 0
    while position < text.count {
      // A piece at a time, so that a long text does not reserve six times its length.
      reserve(6 * Self.piece)
      guard let next = appendPiece(of: text, from: position, escapingPercent) else { return false }
      position = next
    }
    append(UInt8(ascii: "\""))
    return true
  }

  private static let piece = 4096

  /// - Returns: where the next piece begins, nil when the bytes are not UTF-8.
  private func appendPiece(of text: UnsafeBufferPointer<UInt8>, from first: Int, _ escapingPercent: Bool) -> Int? {
    guard let source = text.baseAddress else { return text.count }
    var position = first
    let end = min(text.count, first + Self.piece - 4)
    var target = start + count
    // Whether what was written so far is what was read.
    var isVerbatim = true
    defer { count = target - start }
    while position < end {
      // Eight bytes that need no look at each; the last ones together with some that were written already.
      let rest = end - position
      if rest < 8, isVerbatim, position - first >= 8 - rest {
        let word = UnsafeRawPointer(source + end - 8).loadUnaligned(as: UInt64.self)
        if Self.isPlain(word, escapingPercent) {
          UnsafeMutableRawPointer(target + rest - 8).storeBytes(of: word, as: UInt64.self)
          target += rest
          return end
        }
      }
      if rest >= 8 {
        let word = UnsafeRawPointer(source + position).loadUnaligned(as: UInt64.self)
        if Self.isPlain(word, escapingPercent) {
          UnsafeMutableRawPointer(target).storeBytes(of: word, as: UInt64.self)
          target += 8
          position += 8
          continue
        }
      }
      let byte = source[position]
      if byte >= 0x80 {
        let length = Self.sequenceLength(source + position, available: text.count - position)
        guard length > 0 else { return nil }
        target.update(from: source + position, count: length)
        target += length
        position += length
        continue
      }
      position += 1
      if byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"),
        !(escapingPercent && byte == UInt8(ascii: "%"))
      {
        target.pointee = byte
        target += 1
      } else {
        target = Self.escape(byte, at: target)
        isVerbatim = false
      }
    }
    return position
  }

  private static func escape(_ byte: UInt8, at target: UnsafeMutablePointer<UInt8>) -> UnsafeMutablePointer<UInt8> {
    target[0] = UInt8(ascii: "\\")
    let short: UInt8? =
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): byte
      case 0x0a: UInt8(ascii: "n")
      case 0x0d: UInt8(ascii: "r")
      case 0x09: UInt8(ascii: "t")
      default: nil
      }
    if let short {
      target[1] = short
      return target + 2
    }
    target[1] = UInt8(ascii: "u")
    target[2] = UInt8(ascii: "0")
    target[3] = UInt8(ascii: "0")
    target[4] = UInt8(ascii: "0") + byte >> 4
    target[5] = hexadecimal(byte & 15)
    return target + 6
  }

  /// Whether none of the eight bytes is a control character, `"`, `\` or beyond ASCII (nor `%`, if that counts).
  ///
  /// A byte's top bit is set in each expression when the byte is what it looks for. A borrow may set it for a byte too
  /// many, which then gets the look it did not need.
  @inline(__always)
  private static func isPlain(_ word: UInt64, _ escapingPercent: Bool) -> Bool {
    var found = word | (word &- 0x2020_2020_2020_2020) | equal(word, 0x22) | equal(word, 0x5c)
    if escapingPercent { found |= equal(word, 0x25) }
    return found & 0x8080_8080_8080_8080 == 0
  }

  @inline(__always)
  private static func equal(_ word: UInt64, _ byte: UInt64) -> UInt64 {
    (word ^ (byte &* 0x0101_0101_0101_0101)) &- 0x0101_0101_0101_0101
  }

  /// The length of the UTF-8 sequence (RFC 3629, section 4) beyond ASCII that starts there, 0 when there is none.
  private static func sequenceLength(_ bytes: UnsafePointer<UInt8>, available: Int) -> Int {
    let (length, second): (Int, ClosedRange<UInt8>) =
      switch bytes[0] {
      case 0xc2...0xdf: (2, 0x80...0xbf)
      case 0xe0: (3, 0xa0...0xbf)
      case 0xed: (3, 0x80...0x9f)
      case 0xe1...0xef: (3, 0x80...0xbf)
      case 0xf0: (4, 0x90...0xbf)
      case 0xf1...0xf3: (4, 0x80...0xbf)
      case 0xf4: (4, 0x80...0x8f)
      default: (0, 0...0)
      }
    guard length > 0, available >= length, second.contains(bytes[1]) else { return 0 }
    for index in 2..<max(2, length) where bytes[index] & 0xc0 != 0x80 { return 0 }
    return length
  }

  // MARK: Forms

  /// Appends `bytes` as a value of `application/x-www-form-urlencoded`: all but RFC 3986's unreserved characters
  /// (section 2.3) as `%XX`.
  func append(formEncoded bytes: UnsafeBufferPointer<UInt8>) {
    reserve(3 * bytes.count)
    var target = start + count
    for byte in bytes {
      if Self.isUnreserved(byte) {
        target.pointee = byte
        target += 1
      } else {
        target[0] = UInt8(ascii: "%")
        target[1] = Self.hexadecimal(byte >> 4)
        target[2] = Self.hexadecimal(byte & 15)
        target += 3
      }
    }
    count = target - start
  }

  @inline(__always)
  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// Upper case, as RFC 3986 recommends (section 2.1).
  @inline(__always)
  private static func hexadecimal(_ digit: UInt8) -> UInt8 {
    digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10
  }
}
