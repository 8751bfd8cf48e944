/// Puts a response together from what comes in, and says when it is too much.
final class ResponseReader {
  /// For all header lines together, those of interim responses included.
  static let longestHead = 64 << 10

  private(set) var headers: [String: String] = [:]
  private(set) var body: [UInt8] = []
  /// Whether the body went on beyond ``HTTPResponse/longestBody``.
  private(set) var isCut = false
  /// Whether the header lines went on beyond ``longestHead``.
  private(set) var isHeadTooLong = false
  /// Whether the last head's empty line came.
  private(set) var isHeadComplete = false
  /// Whether the head says where the body ends (RFC 9112, section 6.3), as every one of HTTP/2 does.
  var isDelimited: Bool {
    !isHTTP1 || headers["content-length"] != nil || headers["transfer-encoding"] != nil
  }
  private var isHTTP1 = true
  private var headLength = 0

  /// Takes one line as it came, its end included.
  ///
  /// - Returns: false when the transfer must end.
  func takeHeaderLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
    headLength += bytes.count
    guard headLength <= Self.longestHead else {
      isHeadTooLong = true
      return false
    }
    let line = bytes.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
    if line.starts(with: "HTTP/".utf8) {
      // Of several heads, as with 100 or 103, the last one is the response's.
      headers = [:]
      isHeadComplete = false
      isHTTP1 = line.starts(with: "HTTP/1".utf8)
    } else if line.isEmpty {
      isHeadComplete = true
    } else if !isHeadComplete, let colon = line.firstIndex(of: UInt8(ascii: ":")) {
      // What comes later are trailers, which may not change what the head says (RFC 9110, section 6.5.1).
      let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
      let value = line[(colon + 1)...].drop(while: Self.isBlank)
      let end = value.lastIndex { !Self.isBlank($0) }.map { $0 + 1 } ?? value.startIndex
      headers[name] = String(decoding: value[..<end], as: UTF8.self)
    }
    return true
  }

  /// Takes the next bytes of the body.
  ///
  /// - Returns: false when the transfer must end.
  func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let room = HTTPResponse.longestBody - body.count
    body.append(contentsOf: bytes.prefix(room))
    isCut = bytes.count > room
    return !isCut
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
