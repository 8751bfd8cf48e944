import EncryptedSQLite
import Foundation

/// What the person gave where a path belongs. It may be the key itself, and then no message repeats it.
struct Concealment: Sendable {
  private let texts: [String]
  private let replacement: String

  /// - Returns: nil for what is plainly a path.
  init?(_ text: String, of file: Option.File, givenWith option: String) {
    switch file {
    case .ordinary where text.contains { $0 == "/" || $0 == "." }: return nil
    // Passphrases have such characters in them, too.
    case .secret where ["/", "./", "../"].contains(where: text.hasPrefix): return nil
    default: break
    }
    // The longer first: it ends with the other.
    var texts = (try? FileSystem.absolute(text)).map { [$0] } ?? []
    // Shorter words occur in any message.
    if text.count >= (file == .secret ? 4 : 8) { texts.append(text) }
    self.texts = texts
    replacement = "(given with \(option))"
  }

  func applied(to message: String) -> String {
    texts.reduce(message) { $0.replacingOccurrences(of: $1, with: replacement) }
  }

  /// Whether no path looks so: a raw key, or random bytes in hexadecimal or base64 (RFC 4648) digits.
  static func isKey(_ text: String) -> Bool {
    if text.lowercased().hasPrefix("x'") { return true }
    if text.count >= 32, text.utf8.allSatisfy(Hexadecimal.isDigit) { return true }
    return text.count >= 40 && text.hasSuffix("=") && text.utf8.allSatisfy(isBase64Digit)
  }

  private static func isBase64Digit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "+/-_=".utf8.contains(byte)
    }
  }
}
