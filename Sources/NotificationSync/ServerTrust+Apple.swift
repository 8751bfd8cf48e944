#if canImport(Security)
  import EncryptedSQLite
  import Foundation
  import Security

  /// Judges a server's certificate by a policy.
  ///
  /// - Note: `@unchecked Sendable`: certificates do not change.
  final class ServerTrust: @unchecked Sendable {
    /// nil: the system's authorities.
    private let anchors: [SecCertificate]?
    private let pins: [[UInt8]]

    /// - Throws: `invalidSyncSettings`.
    init(_ policy: TLSPolicy) throws {
      pins = try policy.pinnedDigests()
      anchors = try policy.certificateAuthorities.map { path in
        let certificates = (try? String(contentsOfFile: path, encoding: .utf8)).flatMap(PEM.certificates)
        guard let certificates else {
          throw DatabaseError(
            .invalidSyncSettings, "the file of certificate authorities cannot be read: check that it is PEM")
        }
        return try certificates.map { bytes in
          guard let certificate = SecCertificateCreateWithData(nil, bytes as CFData) else {
            throw DatabaseError(
              .invalidSyncSettings, "a certificate in the file of certificate authorities is none: make the file anew")
          }
          return certificate
        }
      }
    }

    /// - Throws: `untrustedServer`, whatever it is that does not hold.
    func judge(_ trust: SecTrust, host: String, origin: String) throws {
      guard SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, host as CFString)) == errSecSuccess else {
        throw refusal(origin, "cannot be judged")
      }
      if let anchors {
        guard SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess,
          SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess
        else { throw refusal(origin, "cannot be judged") }
      }
      var failure: CFError?
      guard SecTrustEvaluateWithError(trust, &failure) else {
        switch failure.map({ OSStatus(truncatingIfNeeded: CFErrorGetCode($0)) }) {
        case errSecCertificateExpired: throw refusal(origin, "has expired")
        case errSecHostNameMismatch: throw refusal(origin, "is for another host name")
        case errSecNotTrusted, errSecCreateChainFailed:
          throw refusal(origin, "comes from no authority that is trusted here")
        case let code: throw refusal(origin, "does not verify (Security's error \(code ?? 0))")
        }
      }
      guard !pins.isEmpty else { return }
      guard let leaf = SecTrustGetCertificateAtIndex(trust, 0), let info = Self.publicKeyInfo(leaf),
        pins.contains(PlatformCrypto.sha256(info))
      else {
        throw DatabaseError(
          .untrustedServer,
          "the public key of \(origin) is none of those pinned: add its pin if the server has a new key; if not, "
            + "somebody is in between")
      }
    }

    private func refusal(_ origin: String, _ reason: String) -> SyncError {
      DatabaseError(
        .untrustedServer,
        "the certificate of \(origin) \(reason): check the address, the server's certificate, the "
          + "authorities named and this device's clock")
    }

    /// nil for a key of any other kind: it matches no pin.
    private static func publicKeyInfo(_ certificate: SecCertificate) -> [UInt8]? {
      guard let key = SecCertificateCopyKey(certificate), let bytes = SecKeyCopyExternalRepresentation(key, nil),
        let attributes = SecKeyCopyAttributes(key) as? [String: Any],
        let type = attributes[kSecAttrKeyType as String] as? String,
        let size = attributes[kSecAttrKeySizeInBits as String] as? Int
      else { return nil }
      let curves: [Int: PublicKeyInfo.Algorithm] = [256: .p256, 384: .p384, 521: .p521]
      let isRSA = type == kSecAttrKeyTypeRSA as String
      let isCurve = type == kSecAttrKeyTypeECSECPrimeRandom as String
      guard let algorithm = isRSA ? .rsa : isCurve ? curves[size] : nil else { return nil }
      return PublicKeyInfo.der(algorithm, key: bytes as Data)
    }
  }
#endif
