import EncryptedSQLite

/// The secret that signs batches (HMAC-SHA-256), shared with the receiver.
///
/// Prints as `<redacted>`, and wipes the bytes that it owns on release.
public struct SigningKey: Sendable {
  private let bytes: SecureBytes
  /// What the receiver knows the key by.
  public let id: String

  /// - Parameters:
  ///   - bytes: 32 or more (RFC 2104, section 3: fewer than the hash's length would weaken it).
  ///   - id: 1 to 255 printable ASCII characters.
  /// - Throws: `invalidSyncSettings`.
  public init(_ bytes: some Sequence<UInt8>, id: String) throws {
    let copy = SecureBytes.copy(bytes)
    guard copy.count >= 32 else {
      throw SyncError(
        .invalidSyncSettings, "the signing key has \(copy.count) bytes: give 32 or more, random ones")
    }
    guard (1...255).contains(id.utf8.count), id.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
      throw SyncError(
        .invalidSyncSettings, "the signing key's id is empty, too long or not plain ASCII: give 1 to 255 characters")
    }
    self.bytes = copy
    self.id = id
  }

  /// HMAC-SHA-256 (RFC 2104) of `message`, 32 bytes.
  func authenticationCode(of message: [UInt8]) -> [UInt8] {
    bytes.withUnsafeBytes { key in message.withUnsafeBytes { PlatformCrypto.hmacSHA256($0, key: key) } }
  }
}

extension SigningKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "<redacted>" }
  public var debugDescription: String { "<redacted>" }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
