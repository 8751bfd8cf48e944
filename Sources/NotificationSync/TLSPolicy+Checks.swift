import EncryptedSQLite
import Foundation

extension TLSPolicy {
  /// Looks at everything that can be judged before a connection.
  ///
  /// - Throws: `invalidSyncSettings`; `keyExposed` when others can read the client's private key.
  package func check() throws {
    _ = try pinnedDigests()
    _ = try proxyAddress()
    if let certificateAuthorities { try Self.checkFile(certificateAuthorities, "certificate authorities") }
    guard (clientCertificate == nil) == (clientKey == nil) else {
      throw DatabaseError(
        .invalidSyncSettings,
        "of client certificate and client key one is missing: give the PEM files of both, or neither")
    }
    if let clientCertificate { try Self.checkFile(clientCertificate, "client certificate") }
    if let clientKey { try Self.checkFile(clientKey, "client key", isSecret: true) }
  }

  /// The SHA-256 digests in ``publicKeyPins``, 32 bytes each.
  ///
  /// - Throws: `invalidSyncSettings` when one is anything else.
  func pinnedDigests() throws -> [[UInt8]] {
    try publicKeyPins.map { pin in
      let scheme = "sha256//"
      let text = String(pin.dropFirst(scheme.count))
      // Encoded again: base64 has several spellings of the same bytes, and digests are compared as text elsewhere.
      guard pin.hasPrefix(scheme), let digest = Data(base64Encoded: text), digest.count == 32,
        digest.base64EncodedString() == text
      else {
        throw DatabaseError(
          .invalidSyncSettings,
          "a public-key pin is not sha256// and the base64 of 32 bytes: make it with openssl, as the README shows")
      }
      return Array(digest)
    }
  }

  /// Where ``proxy`` is.
  ///
  /// - Throws: `invalidSyncSettings` when it is not `http://host:port`.
  func proxyAddress() throws -> HostAndPort? {
    guard let proxy else { return nil }
    let scheme = "http://"
    guard proxy.hasPrefix(scheme), let address = HostAndPort(proxy.utf8.dropFirst(scheme.count)), address.port != nil
    else {
      throw DatabaseError(
        .invalidSyncSettings, "the proxy is not of the form http://host:port: give it so, without user or path")
    }
    return address
  }

  private static func checkFile(_ path: String, _ name: String, isSecret: Bool = false) throws {
    guard !path.utf8.contains(0) else {
      throw DatabaseError(.invalidSyncSettings, "the path of the \(name) has a NUL in it: check it")
    }
    // Not blocking: a FIFO without a writer must not hang the caller for ever.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      let reason = String(cString: strerror(errno))
      throw DatabaseError(.invalidSyncSettings, "cannot read the \(name), \(path): \(reason)")
    }
    defer { close(descriptor) }
    guard try FileStatus(descriptor: descriptor, path).isRegularFile else {
      throw DatabaseError(.invalidSyncSettings, "the \(name), \(path), is not a file: give the path of a PEM file")
    }
    if isSecret { try KeyFile.checkOwnerAndMode(descriptor, path) }
  }
}
