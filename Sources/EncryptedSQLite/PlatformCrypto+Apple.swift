#if canImport(CryptoKit)
  import CryptoKit
  import Foundation

  extension PlatformCrypto {
    package static func prepare() {}

    package static func sha256(_ bytes: UnsafeRawBufferPointer, into digest: UnsafeMutableRawBufferPointer) {
      precondition(digest.count == 32, "SHA-256 gives 32 bytes")
      var hash = SHA256()
      hash.update(bufferPointer: bytes)
      hash.finalize().withUnsafeBytes { digest.copyMemory(from: $0) }
    }

    package static func hmacSHA256(_ message: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> [UInt8] {
      var code = HMAC<SHA256>(key: SymmetricKey(data: key))
      code.update(data: message)
      return Array(code.finalize())
    }

    package static func random(into buffer: UnsafeMutableRawBufferPointer) {
      // On Apple's systems this generator is the kernel's, documented as cryptographically secure.
      var generator = SystemRandomNumberGenerator()
      for index in buffer.indices { buffer[index] = generator.next() }
    }

    package static func wipe(_ buffer: UnsafeMutableRawBufferPointer) {
      guard let target = buffer.baseAddress else { return }
      // C11 Annex K.3.7.4.1: memset_s is never optimised away.
      memset_s(target, buffer.count, 0, buffer.count)
    }

    package static func equal(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
      guard left.count == right.count else { return false }
      var difference: UInt8 = 0
      for index in left.indices { difference |= left[index] ^ right[index] }
      return difference == 0
    }
  }
#endif
