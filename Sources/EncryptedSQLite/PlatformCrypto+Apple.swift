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

    package static func seal(
      _ plaintext: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8]
    ) -> [UInt8] {
      precondition(key.count == 32 && nonce.count == 12, "AES-256-GCM takes 32 bytes of key and 12 of nonce")
      guard let nonce = try? AES.GCM.Nonce(data: nonce),
        let box = try? AES.GCM.seal(plaintext, using: SymmetricKey(data: key), nonce: nonce, authenticating: data)
      else {
        preconditionFailure("CryptoKit could not encrypt by AES-256-GCM")
      }
      return Array(box.ciphertext + box.tag)
    }

    package static func open(
      _ sealed: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8]
    ) -> [UInt8]? {
      precondition(key.count == 32 && nonce.count == 12, "AES-256-GCM takes 32 bytes of key and 12 of nonce")
      guard sealed.count >= 16, let nonce = try? AES.GCM.Nonce(data: nonce),
        let box = try? AES.GCM.SealedBox(
          nonce: nonce, ciphertext: sealed.dropLast(16), tag: sealed.suffix(16)),
        let plaintext = try? AES.GCM.open(box, using: SymmetricKey(data: key), authenticating: data)
      else {
        return nil
      }
      return Array(plaintext)
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
