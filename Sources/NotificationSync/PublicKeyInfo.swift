import Foundation

/// A public key as a certificate holds it: `SubjectPublicKeyInfo` of RFC 5280, section 4.1.2.7.
///
/// Apple's systems hand out the key alone (PKCS #1 for RSA, X9.63 for elliptic curves); a pin is of the key together with
/// the algorithm's identifier, which goes before it.
enum PublicKeyInfo {
  enum Algorithm {
    /// RFC 3279, section 2.3.1.
    case rsa
    /// RFC 5480, section 2.1.1.
    case p256, p384, p521

    fileprivate var identifier: [UInt8] {
      switch self {
      case .rsa: [0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00]
      case .p256:
        [0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
          + [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
      case .p384:
        [0x30, 0x10, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01] + [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22]
      case .p521:
        [0x30, 0x10, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01] + [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x23]
      }
    }
  }

  /// The DER of a key of any size.
  static func der(_ algorithm: Algorithm, key: some Collection<UInt8>) -> [UInt8] {
    // A BIT STRING begins with the number of bits that its last byte leaves unused.
    let bits = [0x03] + length(key.count + 1) + [0x00] + Array(key)
    return [0x30] + length(algorithm.identifier.count + bits.count) + algorithm.identifier + bits
  }

  /// X.690, section 8.1.3.
  private static func length(_ count: Int) -> [UInt8] {
    guard count > 0x7F else { return [UInt8(count)] }
    var bytes: [UInt8] = []
    var rest = count
    while rest > 0 {
      bytes.insert(UInt8(rest & 0xFF), at: 0)
      rest >>= 8
    }
    return [0x80 | UInt8(bytes.count)] + bytes
  }
}
