import EncryptedSQLite

// The alternatives are SystemTransport+Linux.swift (libcurl) and SystemTransport+Apple.swift (URLSession).
extension SystemTransport {
  /// - Throws: `invalidSyncSettings` when a name or value cannot stand in a header, or is the transport's to give.
  static func check(_ headers: [(name: String, value: String)]) throws {
    for (name, value) in headers {
      guard !name.isEmpty, name.utf8.allSatisfy(isTokenByte) else {
        throw DatabaseError(
          .invalidSyncSettings, "a request's header has no valid name: use letters, digits and hyphens")
      }
      // Control characters: a line's end in a value would begin another header.
      guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
        throw DatabaseError(
          .invalidSyncSettings, "the value of the header \(name) has a control character in it: take it out")
      }
      guard !ownHeaders.contains(name.lowercased()) else {
        throw DatabaseError(.invalidSyncSettings, "the header \(name) is the transport's own: leave it out")
      }
    }
  }

  static var cancelled: DatabaseError {
    DatabaseError(.cancelled, "the upload was cancelled: what the server has of it is not known")
  }

  /// Those that frame a message or steer its connection.
  private static let ownHeaders: Set = [
    "connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization", "proxy-connection", "te",
    "trailer", "transfer-encoding", "upgrade",
  ]

  /// RFC 9110, section 5.6.2.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default:
      "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
