import Foundation

/// A server as the configuration names it, made `https`.
package struct UploadHost: Sendable, Equatable {
  /// Host in lower case, and port unless it is 443.
  package let authority: String
  /// What stands before every path: "", or `/` and more, without `/` at its end.
  package let basePath: String

  /// Reads `host`, `host:port`, or a URL. `http://`, a missing scheme and a `/` at the end are put right, as the public
  /// sensor does it; for `aware` so is `/index.php`.
  ///
  /// - Parameter setting: whose text it is, for errors.
  /// - Throws: `invalidSyncSettings` for another scheme, user and password, a query or a fragment, and what is no host.
  package init(_ text: String, serverType: ServerType, of setting: String = "dbHost") throws {
    let (authority, path) = try Self.parts(text, of: setting)
    self.authority = authority
    var base = path[...]
    while base.hasSuffix("/") { base.removeLast() }
    if serverType == .aware, base.hasSuffix("/index.php") {
      base.removeLast("/index.php".count)
      while base.hasSuffix("/") { base.removeLast() }
    }
    basePath = String(base)
  }

  /// - Parameter setting: whose text it is, for errors.
  /// - Returns: host and port, and the path as it stands.
  fileprivate static func parts(_ text: String, of setting: String) throws -> (authority: String, path: String) {
    do {
      return try parts(text)
    } catch let error as Unusable {
      // Not the text itself: it may hold a password.
      throw SyncError(.invalidSyncSettings, "\(setting) cannot be used: \(error.reason)")
    }
  }

  private static func parts(_ text: String) throws -> (authority: String, path: String) {
    var rest = text.trimmingCharacters(in: .whitespacesAndNewlines)[...]
    if let scheme = rest.range(of: "://") {
      guard ["http", "https"].contains(rest[..<scheme.lowerBound].lowercased()) else {
        throw Unusable("its scheme is not https")
      }
      rest = rest[scheme.upperBound...]
    }
    guard !rest.contains("@") else { throw Unusable("it contains a user or password: use the signing key") }
    guard !rest.contains(where: { "?#\\".contains($0) }) else { throw Unusable("it contains a query or a fragment") }
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    let path = rest[slash...]
    guard path.utf8.allSatisfy(RequestTarget.isPathByte) else {
      throw Unusable("its path has characters that a URL cannot have")
    }
    return (try authority(rest[..<slash]), String(path))
  }

  private static func authority(_ text: Substring) throws -> String {
    // A port may be empty (RFC 3986, section 3.2.3).
    guard let address = HostAndPort((text.hasSuffix(":") ? text.dropLast() : text).utf8) else {
      throw Unusable("give a host in plain ASCII, such as study.example.org, and a port up to 65535 if it has one")
    }
    return address.host.lowercased() + (address.port.flatMap { $0 == 443 ? nil : ":\($0)" } ?? "")
  }

  private struct Unusable: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
  }
}

/// Where a request goes.
package struct UploadPlace: Sendable, Equatable {
  package let authority: String
  package let path: String

  package var url: String { "https://\(authority)\(path)" }

  /// - Parameter setting: whose URL it is, for errors.
  /// - Throws: `invalidSyncSettings`.
  package init(url: String, of setting: String) throws {
    let (authority, path) = try UploadHost.parts(url, of: setting)
    self.authority = authority
    self.path = path.isEmpty ? "/" : path
  }

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
