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
      defer { pseudorandomKey.withUnsafeMutableBytes { PlatformCrypto.wipe($0) } }
      // Section 2.3: T(n) = HMAC(PRK, T(n-1) | info | n), where T(0) is empty.
      withUnsafeTemporaryAllocation(byteCount: 32 + info.count + 1, alignment: 1) { message in
        defer { PlatformCrypto.wipe(message) }
        UnsafeMutableRawBufferPointer(rebasing: message[32...]).copyBytes(from: info)
        var written = 0
        var counter: UInt8 = 1
        while written < count {
          message[32 + info.count] = counter
          let input = UnsafeRawBufferPointer(rebasing: message[(counter == 1 ? 32 : 0)...])
          var block = pseudorandomKey.withUnsafeBytes { PlatformCrypto.hmacSHA256(input, key: $0) }
          block.withUnsafeMutableBytes { block in
            message.copyBytes(from: block)
            let part = min(32, count - written)
            UnsafeMutableRawBufferPointer(rebasing: output[written...]).copyBytes(from: block[..<part])
            written += part
            PlatformCrypto.wipe(block)
          }
          counter &+= 1
        }
      }
    }
  }
}
