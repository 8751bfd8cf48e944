/// HMAC-based key derivation with SHA-256 (RFC 5869).
///
/// Here because CryptoKit has it from iOS 14 on only.
package enum HKDF {
  /// - Parameters:
  ///   - count: bytes of the result, up to 255 times 32 (section 2.3).
  /// - Returns: the bytes, in memory that the caller wipes.
  package static func derive(
    from secret: UnsafeRawBufferPointer, salt: [UInt8], info: [UInt8], count: Int
  ) -> SecureBytes {
    precondition((1...255 * 32).contains(count), "HKDF-SHA-256 gives 1 to 8160 bytes")
    return SecureBytes(count: count) { output in
      // Section 2.2: the salt is the HMAC's key.
      var pseudorandomKey = salt.withUnsafeBytes { PlatformCrypto.hmacSHA256(secret, key: $0) }
      var block: [UInt8] = []
      defer {
        pseudorandomKey.withUnsafeMutableBytes { PlatformCrypto.wipe($0) }
        block.withUnsafeMutableBytes { PlatformCrypto.wipe($0) }
      }
      var written = 0
      var counter: UInt8 = 1
      while written < count {
        // Section 2.3: T(n) = HMAC(PRK, T(n-1) | info | n).
        block = pseudorandomKey.withUnsafeBytes { key in
          (block + info + [counter]).withUnsafeBytes { PlatformCrypto.hmacSHA256($0, key: key) }
        }
        let part = min(32, count - written)
        for index in 0..<part { output[written + index] = block[index] }
        written += part
        counter &+= 1
      }
    }
  }
}
