import EncryptedSQLite
import Foundation

/// The bytes of one file of the spool: one push, encrypted.
///
/// The header is 7 bytes that name the format, 1 byte of version, 32 random bytes of salt, and 16 bytes by which the right
/// key is known. A nonce (12 bytes), the ciphertext and its tag (16 bytes) follow. The push is encrypted by AES-256-GCM
/// under a key of the file's own, which HKDF-SHA-256 derives from the store's raw key and the salt; header and file name are
/// authenticated with it, so that no file can take the place of another.
enum SpoolFile {
  enum Content {
    case push(SpooledPush)
    /// None of the keys at hand encrypted it.
    case foreignKey
    /// A later version of this program wrote it.
    case laterVersion
    /// It was altered, or never written by this program.
    case failed
  }

  /// What a file is at most, in bytes. No push is that long.
  static let maximumSize = 1 << 20
  static let headerSize = 56
  static let nonceSize = 12
  private static let tagSize = 16
  private static let magic = Array("AWSPOOL".utf8)
  /// Version 1, in ASCII, was one file for all pushes.
  private static let version: UInt8 = 2
  private static let info = Array("aware-notification spool 2".utf8)

  /// The file that holds `push` under the name `name`.
  ///
  /// - Parameter key: a raw key.
  /// - Throws: `tooLarge`.
  static func encrypted(_ push: SpooledPush, name: String, key: EncryptionKey) throws -> [UInt8] {
    let salt = random(32)
    guard let keys = derive(key, salt) else {
      throw DatabaseError(
        .spoolUnavailable, "with a passphrase no push can wait in the spool: use a raw key (x'64 digits')")
    }
    var plaintext = Array(try push.encoded())
    defer { plaintext.withUnsafeMutableBytes { PlatformCrypto.wipe($0) } }
    guard plaintext.count <= maximumSize - headerSize - nonceSize - tagSize else {
      throw DatabaseError(
        .tooLarge, "a push of \(plaintext.count) bytes is too large for the spool: it takes up to \(maximumSize) bytes")
    }
    let header = magic + [version] + salt + keys.withUnsafeBytes { Array($0[32...]) }
    let nonce = random(nonceSize)
    let ciphertext = keys.withUnsafeBytes { keys in
      plaintext.withUnsafeBytes {
        PlatformCrypto.seal(
          $0, key: UnsafeRawBufferPointer(rebasing: keys[..<32]), nonce: nonce,
          authenticating: header + Array(name.utf8))
      }
    }
    return header + nonce + ciphertext
  }

  /// What the file of the name `name` holds.
  static func content(_ bytes: [UInt8], name: String, keys: [EncryptionKey]) -> Content {
    guard bytes.starts(with: magic), bytes.count > magic.count else { return .failed }
    guard bytes[magic.count] <= version else { return .laterVersion }
    guard bytes[magic.count] == version, bytes.count >= headerSize + nonceSize + tagSize else { return .failed }
    let header = Array(bytes[..<headerSize])
    let (salt, check) = (Array(header[8..<40]), Array(header[40...]))
    let derived = keys.lazy.compactMap { derive($0, salt) }.first { keys in
      keys.withUnsafeBytes { keys in
        check.withUnsafeBytes { PlatformCrypto.equal($0, UnsafeRawBufferPointer(rebasing: keys[32...])) }
      }
    }
    guard let derived else { return .foreignKey }
    let opened = derived.withUnsafeBytes { keys in
      bytes.withUnsafeBytes {
        PlatformCrypto.open(
          UnsafeRawBufferPointer(rebasing: $0[(headerSize + nonceSize)...]),
          key: UnsafeRawBufferPointer(rebasing: keys[..<32]),
          nonce: Array(bytes[headerSize..<headerSize + nonceSize]), authenticating: header + Array(name.utf8))
      }
    }
    guard var plaintext = opened else { return .failed }
    defer { plaintext.withUnsafeMutableBytes { PlatformCrypto.wipe($0) } }
    return SpooledPush(Data(plaintext)).map { .push($0) } ?? .failed
  }

  /// Whether the file begins as that of version 1.
  static func isOldForm(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic + [UInt8(ascii: "1")]) }

  /// A new file's name: 32 hexadecimal digits that show neither time nor content.
  static func randomName() -> String { Hexadecimal.text(random(16)) }

  static func isName(_ name: some StringProtocol) -> Bool {
    name.utf8.count == 32 && name.utf8.allSatisfy(Hexadecimal.isDigit)
  }

  /// 32 bytes for the push, and 16 by which the right key is known; nil for a passphrase.
  private static func derive(_ key: EncryptionKey, _ salt: [UInt8]) -> SecureBytes? {
    key.withRawKey { HKDF.derive(from: $0, salt: salt, info: info, count: 48) }
  }

  private static func random(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    bytes.withUnsafeMutableBytes { PlatformCrypto.random(into: $0) }
    return bytes
  }
}
