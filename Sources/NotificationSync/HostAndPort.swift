/// `host` or `host:port`, the host a name, an IPv4 address, or an IPv6 address in brackets.
struct HostAndPort: Equatable {
  let host: String
  /// nil where none was named.
  let port: Int?

  /// nil when `text` is anything else.
  init?(_ text: some Collection<UInt8>) {
    let bytes = Array(text)
    let hostLength: Int
    if bytes.first == UInt8(ascii: "[") {
      guard let end = bytes.firstIndex(of: UInt8(ascii: "]")), end > 1,
        bytes[1..<end].allSatisfy({ Self.isHexadecimal($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") })
      else { return nil }
      hostLength = end + 1
    } else {
      hostLength = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.count
      guard hostLength > 0, bytes[..<hostLength].allSatisfy(Self.isNameByte) else { return nil }
    }
    host = String(decoding: bytes[..<hostLength], as: UTF8.self)
    guard hostLength < bytes.count else {
      port = nil
      return
    }
    let digits = bytes[(hostLength + 1)...]
    guard bytes[hostLength] == UInt8(ascii: ":"), !digits.isEmpty, digits.count <= 5,
      digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let number = UInt16(String(decoding: digits, as: UTF8.self)), number > 0
    else { return nil }
    port = Int(number)
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }
}
