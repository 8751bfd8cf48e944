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
        Array(bytes).withUnsafeBytes { sha256($0, into: target) }
      }
      count = 32
    }
  }
}
