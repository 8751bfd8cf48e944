import EncryptedSQLite

/// Where a request goes, as far as an error may say it.
package struct RequestTarget: Sendable {
  /// `https://host:port`, the port always named.
  package let origin: String

  /// Takes an absolute `https` URL as RFC 3986 writes it, without user, query or fragment.
  ///
  /// Stricter than any library's parser, so that all of them read the same host in it.
  ///
  /// - Throws: `invalidSyncSettings`.
  package init(_ url: String) throws {
    let scheme = "https://"
    guard url.lowercased().hasPrefix(scheme) else {
      throw DatabaseError(.invalidSyncSettings, "the server's address does not begin with https://: give one that does")
    }
    let rest = url.utf8.dropFirst(scheme.utf8.count)
    let authority = rest.prefix { $0 != UInt8(ascii: "/") }
    guard rest.dropFirst(authority.count).allSatisfy(Self.isPathByte), let address = HostAndPort(authority) else {
      throw DatabaseError(
        .invalidSyncSettings,
        "the server's address is not of the form https://host:port/path: percent-encode what is not ASCII, write a "
          + "host's name in its ASCII form, and leave out user, query and fragment")
    }
    origin = "https://\(address.host):\(address.port ?? 443)"
  }

  /// Whether a path may have it, `%` included (RFC 3986, section 3.3).
  static func isPathByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default:
      "-._~!$&'()*+,;=:@%/".utf8.contains(byte)
    }
  }
}
