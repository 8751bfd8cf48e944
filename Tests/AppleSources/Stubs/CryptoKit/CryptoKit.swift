import COpenSSL
@_exported import Foundation

// https://developer.apple.com/documentation/cryptokit, on libcrypto. Nothing here is constant in time or wiped.

/// https://developer.apple.com/documentation/cryptokit/digest
public protocol Digest: Sequence, ContiguousBytes, Hashable where Element == UInt8 {}

/// https://developer.apple.com/documentation/cryptokit/hashfunction
public protocol HashFunction {
  associatedtype Digest: CryptoKit.Digest
  init()
  mutating func update(bufferPointer: UnsafeRawBufferPointer)
  func finalize() -> Digest
}

/// https://developer.apple.com/documentation/cryptokit/sha256digest
public struct SHA256Digest: Digest {
  fileprivate let bytes: [UInt8]
  public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes(body)
  }
  public func makeIterator() -> Array<UInt8>.Iterator { bytes.makeIterator() }
}

/// https://developer.apple.com/documentation/cryptokit/sha256
public struct SHA256: HashFunction {
  private var message: [UInt8] = []
  public init() {}
  public mutating func update(bufferPointer: UnsafeRawBufferPointer) { message += bufferPointer }
  public func finalize() -> SHA256Digest {
    var digest = [UInt8](repeating: 0, count: 32)
    precondition(EVP_Digest(message, message.count, &digest, nil, EVP_sha256(), nil) == 1)
    return SHA256Digest(bytes: digest)
  }
}

/// https://developer.apple.com/documentation/cryptokit/symmetrickey
public struct SymmetricKey: ContiguousBytes, Sendable {
  fileprivate let bytes: [UInt8]
  public init<D: ContiguousBytes>(data: D) { bytes = data.withUnsafeBytes { [UInt8]($0) } }
  public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes(body)
  }
}

/// https://developer.apple.com/documentation/cryptokit/hashedauthenticationcode
public struct HashedAuthenticationCode<H: HashFunction>: Sequence, ContiguousBytes {
  fileprivate let bytes: [UInt8]
  public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes(body)
  }
  public func makeIterator() -> Array<UInt8>.Iterator { bytes.makeIterator() }
}

/// https://developer.apple.com/documentation/cryptokit/hmac
public struct HMAC<H: HashFunction> {
  public typealias MAC = HashedAuthenticationCode<H>
  private let key: SymmetricKey
  private var message: [UInt8] = []
  public init(key: SymmetricKey) { self.key = key }
  public mutating func update<D: DataProtocol>(data: D) { message += data }
  public func finalize() -> MAC {
    precondition(H.self == SHA256.self, "the stub knows SHA-256 only")
    var code = [UInt8](repeating: 0, count: 32)
    let result = COpenSSL.HMAC(EVP_sha256(), key.bytes, Int32(key.bytes.count), message, message.count, &code, nil)
    precondition(result != nil)
    return MAC(bytes: code)
  }
}

/// https://developer.apple.com/documentation/cryptokit/cryptokiterror
public enum CryptoKitError: Error {
  case incorrectKeySize
  case incorrectParameterSize
  case authenticationFailure
}

/// https://developer.apple.com/documentation/cryptokit/aes/gcm
public enum AES {
  public enum GCM {
    /// https://developer.apple.com/documentation/cryptokit/aes/gcm/nonce
    public struct Nonce: Sendable {
      fileprivate let bytes: [UInt8]
      public init<D: DataProtocol>(data: D) throws {
        guard data.count >= 12 else { throw CryptoKitError.incorrectParameterSize }
        bytes = [UInt8](data)
      }
    }

    /// https://developer.apple.com/documentation/cryptokit/aes/gcm/sealedbox
    public struct SealedBox: Sendable {
      public let nonce: Nonce
      public let ciphertext: Data
      public let tag: Data
      public init<C: DataProtocol, T: DataProtocol>(nonce: Nonce, ciphertext: C, tag: T) throws {
        guard tag.count == 16 else { throw CryptoKitError.incorrectParameterSize }
        (self.nonce, self.ciphertext, self.tag) = (nonce, Data(ciphertext), Data(tag))
      }
    }

    /// https://developer.apple.com/documentation/cryptokit/aes/gcm/seal(_:using:nonce:authenticating:)
    public static func seal<Plaintext: DataProtocol, AuthenticatedData: DataProtocol>(
      _ message: Plaintext, using key: SymmetricKey, nonce: Nonce? = nil,
      authenticating authenticatedData: AuthenticatedData
    ) throws -> SealedBox {
      guard let nonce else { preconditionFailure("the stub makes no nonces") }
      let (text, tag) = try run(1, [UInt8](message), key, nonce, [UInt8](authenticatedData), nil)
      return try SealedBox(nonce: nonce, ciphertext: text, tag: tag)
    }

    /// https://developer.apple.com/documentation/cryptokit/aes/gcm/open(_:using:authenticating:)
    public static func open<AuthenticatedData: DataProtocol>(
      _ sealedBox: SealedBox, using key: SymmetricKey, authenticating authenticatedData: AuthenticatedData
    ) throws -> Data {
      Data(
        try run(
          0, [UInt8](sealedBox.ciphertext), key, sealedBox.nonce, [UInt8](authenticatedData), [UInt8](sealedBox.tag)
        ).text)
    }

    private static func run(
      _ isSealing: Int32, _ input: [UInt8], _ key: SymmetricKey, _ nonce: Nonce, _ data: [UInt8], _ expected: [UInt8]?
    ) throws -> (text: [UInt8], tag: [UInt8]) {
      guard key.bytes.count == 32 else { throw CryptoKitError.incorrectKeySize }
      let context = EVP_CIPHER_CTX_new()
      defer { EVP_CIPHER_CTX_free(context) }
      var text = [UInt8](repeating: 0, count: input.count + 16)
      var tag = expected ?? [UInt8](repeating: 0, count: 16)
      var length: Int32 = 0
      precondition(EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, key.bytes, nonce.bytes, isSealing) == 1)
      precondition(EVP_CipherUpdate(context, nil, &length, data, Int32(data.count)) == 1)
      precondition(EVP_CipherUpdate(context, &text, &length, input, Int32(input.count)) == 1)
      if expected != nil { precondition(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag) == 1) }
      var rest = [UInt8](repeating: 0, count: 16)
      guard EVP_CipherFinal_ex(context, &rest, &length) == 1 else { throw CryptoKitError.authenticationFailure }
      if expected == nil { precondition(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag) == 1) }
      return ([UInt8](text.prefix(input.count)), tag)
    }
  }
}
