/// A server as the configuration names it, made `https`.
package struct UploadHost: Sendable, Equatable {
  /// Host in lower case, and port unless it is 443.
  package let authority: String
  /// What stands before every path: "", or `/` and more, without `/` at its end.
  package let basePath: String

  /// Reads `host`, `host:port`, or a URL. `http://`, a missing scheme and a `/` at the end are put right, as the public
  /// sensor does it; for `aware` so is `/index.php`.
  ///
  /// - Throws: `invalidSyncSettings` for another scheme, user and password, a query or a fragment, and what is no host.
  package init(_ text: String, serverType: ServerType) throws {
    var rest = Substring(text.filter { !$0.isWhitespace })
    if let scheme = rest.range(of: "://") {
      guard ["http", "https"].contains(rest[..<scheme.lowerBound].lowercased()) else {
        throw Self.error("its scheme is not https")
      }
      rest = rest[scheme.upperBound...]
    }
    guard !rest.contains("@") else {
      throw Self.error("it contains a user or password, which would be sent in the clear to a log")
    }
    guard !rest.contains(where: { "?#\\".contains($0) }) else { throw Self.error("it contains a query or a fragment") }
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    authority = try Self.authority(rest[..<slash])
    var path = rest[slash...]
    while path.hasSuffix("/") { path.removeLast() }
    if serverType == .aware, path.hasSuffix("/index.php") {
      path.removeLast("/index.php".count)
      while path.hasSuffix("/") { path.removeLast() }
    }
    guard path.utf8.allSatisfy({ (0x21...0x7e).contains($0) && !"\"<>[]^`{|}".utf8.contains($0) }) else {
      throw Self.error("its path has characters that a URL cannot have")
    }
    basePath = String(path)
  }

  private static func authority(_ text: Substring) throws -> String {
    var host = text
    var port: Substring?
    let end = text.hasPrefix("[") ? text.firstIndex(of: "]") ?? text.startIndex : text.startIndex
    if let colon = text[end...].lastIndex(of: ":") {
      host = text[..<colon]
      port = text[text.index(after: colon)...]
    }
    let isName = !host.isEmpty && host.utf8.allSatisfy { isLetterOrDigit($0) || "-._".utf8.contains($0) }
    let isAddress =
      host.hasPrefix("[") && host.hasSuffix("]")
      && host.dropFirst().dropLast().utf8.allSatisfy { isLetterOrDigit($0) || ":.".utf8.contains($0) }
    guard isName || isAddress else { throw error("give a host name in plain ASCII, such as study.example.org") }
    guard let port, !port.isEmpty else { return host.lowercased() }
    guard let number = UInt16(port), number > 0 else { throw error("its port is no number up to 65535") }
    return host.lowercased() + (number == 443 ? "" : ":\(number)")
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte & 0xdf)
  }

  private static func error(_ reason: String) -> SyncError {
    // Not the text itself: it may hold a password.
    SyncError(.invalidSyncSettings, "dbHost cannot be used: \(reason)")
  }
}

/// Where a request goes.
package struct UploadPlace: Sendable, Equatable {
  package let authority: String
  package let path: String

  package var url: String { "https://\(authority)\(path)" }

  /// - Parameter segments: below the host's base path; what a segment cannot have is percent-encoded.
  package init(_ host: UploadHost, segments: [String], endsWithSlash: Bool) {
    authority = host.authority
    path =
      host.basePath
      + segments.map { segment in
        let encoded = ByteBuffer(capacity: 64)
        var segment = segment
        segment.withUTF8 { encoded.append(formEncoded: $0) }
        return "/" + String(decoding: encoded.bytes, as: UTF8.self)
      }.joined() + (endsWithSlash ? "/" : "")
  }
}
