#if canImport(COpenSSL)
  import COpenSSL

  extension PlatformCrypto {
    package static func prepare() { _ = isReady }

    /// libcrypto takes itself down when the program ends, while queues may still be at work on a store: they would crash.
    ///
    /// Nor does it read its configuration: `OPENSSL_CONF` could take algorithms away, load code, or lower what TLS demands.
    private static let isReady =
      OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG), nil) == 1

    /// Fetched once: a fetch per digest costs more than hashing a notification.
    ///
    /// `nonisolated(unsafe)`: an `EVP_MD` is immutable and shared between threads by design.
    private nonisolated(unsafe) static let sha256Algorithm: OpaquePointer = {
      prepare()
      guard let algorithm = EVP_MD_fetch(nil, "SHA256", nil) else {
        fatalError("libcrypto has no SHA-256: its default provider is not loaded")
      }
      return algorithm
    }()

    package static func sha256(_ bytes: UnsafeRawBufferPointer, into digest: UnsafeMutableRawBufferPointer) {
      precondition(digest.count == 32, "SHA-256 gives 32 bytes")
      let status = EVP_Digest(
        bytes.baseAddress, bytes.count, digest.bindMemory(to: UInt8.self).baseAddress, nil, sha256Algorithm, nil)
      precondition(status == 1, "libcrypto could not compute SHA-256")
    }

    package static func hmacSHA256(_ message: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> [UInt8] {
      prepare()
      return [UInt8](unsafeUninitializedCapacity: 32) { code, count in
        let result = HMAC(
          EVP_sha256(), key.baseAddress, Int32(key.count), message.bindMemory(to: UInt8.self).baseAddress,
          message.count, code.baseAddress, nil)
        precondition(result != nil, "libcrypto could not compute HMAC-SHA-256")
        count = 32
      }
    }

    package static func seal(
      _ plaintext: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8]
    ) -> [UInt8] {
      precondition(key.count == 32 && nonce.count == 12, "AES-256-GCM takes 32 bytes of key and 12 of nonce")
      prepare()
      let context = EVP_CIPHER_CTX_new()
      defer { EVP_CIPHER_CTX_free(context) }
      let result = [UInt8](unsafeUninitializedCapacity: plaintext.count + 16) { sealed, count in
        let (source, target) = (plaintext.bindMemory(to: UInt8.self).baseAddress, sealed.baseAddress)
        var length: Int32 = 0
        var isDone = EVP_EncryptInit_ex(
          context, EVP_aes_256_gcm(), nil, key.bindMemory(to: UInt8.self).baseAddress, nonce)
        isDone &= EVP_EncryptUpdate(context, nil, &length, data, Int32(data.count))
        isDone &= EVP_EncryptUpdate(context, target, &length, source, Int32(plaintext.count))
        // A stream cipher has no last block: nothing is written here.
        isDone &= EVP_EncryptFinal_ex(context, target, &length)
        isDone &= EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, target.map { $0 + plaintext.count })
        precondition(isDone == 1, "libcrypto could not encrypt by AES-256-GCM")
        count = plaintext.count + 16
      }
      return result
    }

    package static func open(
      _ sealed: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, nonce: [UInt8], authenticating data: [UInt8]
    ) -> [UInt8]? {
      precondition(key.count == 32 && nonce.count == 12, "AES-256-GCM takes 32 bytes of key and 12 of nonce")
      guard sealed.count >= 16 else { return nil }
      prepare()
      let context = EVP_CIPHER_CTX_new()
      defer { EVP_CIPHER_CTX_free(context) }
      var tag = Array(sealed.suffix(16))
      var isAuthentic = false
      let plaintext = [UInt8](unsafeUninitializedCapacity: sealed.count - 16) { plaintext, count in
        let source = sealed.bindMemory(to: UInt8.self).baseAddress
        var length: Int32 = 0
        var isDone = EVP_DecryptInit_ex(
          context, EVP_aes_256_gcm(), nil, key.bindMemory(to: UInt8.self).baseAddress, nonce)
        isDone &= EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag)
        isDone &= EVP_DecryptUpdate(context, nil, &length, data, Int32(data.count))
        isDone &= EVP_DecryptUpdate(context, plaintext.baseAddress, &length, source, Int32(sealed.count - 16))
        precondition(isDone == 1, "libcrypto could not decrypt by AES-256-GCM")
        isAuthentic = EVP_DecryptFinal_ex(context, plaintext.baseAddress, &length) == 1
        count = isAuthentic ? sealed.count - 16 : 0
        if !isAuthentic { wipe(UnsafeMutableRawBufferPointer(plaintext)) }
      }
      return isAuthentic ? plaintext : nil
    }

    package static func random(into buffer: UnsafeMutableRawBufferPointer) {
      guard let target = buffer.bindMemory(to: UInt8.self).baseAddress else { return }
      prepare()
      // Going on with predictable bytes would be worse than ending.
      precondition(RAND_bytes(target, Int32(buffer.count)) == 1, "the system's random generator failed")
    }

    package static func wipe(_ buffer: UnsafeMutableRawBufferPointer) {
      OPENSSL_cleanse(buffer.baseAddress, buffer.count)
    }

    package static func equal(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
      left.count == right.count && CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
    }
  }
#endif
