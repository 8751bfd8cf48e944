/// What this package needs from the platform's cryptography library.
///
/// `PlatformCrypto` is libcrypto on Linux (`PlatformCrypto+Linux.swift`) and CryptoKit on Apple's systems
/// (`PlatformCrypto+Apple.swift`).
protocol CryptoProvider {
  /// Readies the library; called before anything else of this process uses it.
  static func prepare()
  /// SHA-256 (FIPS 180-4) of `bytes`, written to the 32 bytes of `digest`.
  static func sha256(_ bytes: UnsafeRawBufferPointer, into digest: UnsafeMutableRawBufferPointer)
  /// HMAC-SHA-256 (RFC 2104) of `message`, 32 bytes long.
  static func hmacSHA256(_ message: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> [UInt8]
  /// Encrypts by AES-256-GCM (NIST SP 800-38D): the ciphertext and, after it, the 16 bytes of the tag.
  ///
  /// - Parameters:
  ///   - key: 32 bytes.
  ///   - nonce: 12 bytes, never used twice with one key.
  ///   - data: is authenticated with it, and not part of the result.
  static func seal(
    _ plaintext: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8]
  ) -> [UInt8]
  /// Decrypts what `seal` gave; nil when any of it, or `data`, is not as it was.
  static func open(
    _ sealed: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8]
  ) -> [UInt8]?
  /// Fills `buffer` from the system's cryptographic generator.
  static func random(into buffer: UnsafeMutableRawBufferPointer)
  /// Overwrites `buffer` in a way that the compiler may not leave out.
  static func wipe(_ buffer: UnsafeMutableRawBufferPointer)
  /// Whether both hold the same bytes, in a time that depends on their length alone.
  static func equal(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool
}

/// The platform's cryptography.
package enum PlatformCrypto: CryptoProvider {}

extension PlatformCrypto {
  /// SHA-256 of `bytes`, 32 bytes long.
  package static func sha256(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
      let target = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(digest)[..<32])
      if bytes.withContiguousStorageIfAvailable({ sha256(UnsafeRawBufferPointer($0), into: target) }) == nil {
        SecureBytes.copy(bytes).withUnsafeBytes { sha256($0, into: target) }
      }
      count = 32
    }
  }
}
