import AppleFoundation
import EncryptedSQLite
import Security
import Testing

@testable import NotificationSync

extension AppleSources {
  @Suite struct Trust {
    private static let keyBytes = Data((0..<65).map { UInt8($0) })

    private static func certificate(
      _ type: String = kSecAttrKeyTypeECSECPrimeRandom, _ bits: Int = 256, bytes: Data? = keyBytes
    ) -> SecCertificate {
      SecCertificate(stubDER: Data([0x30]), key: SecKey(stubType: type, bits: bits, bytes: bytes))
    }

    private static func pin(_ algorithm: PublicKeyInfo.Algorithm = .p256) -> String {
      "sha256//" + Data(PlatformCrypto.sha256(PublicKeyInfo.der(algorithm, key: keyBytes))).base64EncodedString()
    }

    private static func judge(_ trust: SecTrust, _ policy: TLSPolicy = TLSPolicy()) -> SyncError? {
      do {
        try ServerTrust(policy).judge(trust, host: "study.example", origin: "https://study.example:443")
        return nil
      } catch {
        return error as? SyncError
      }
    }

    @Test("A server that the system trusts is trusted, for this host, by the system's authorities") func trusted() {
      let trust = SecTrust(stubChain: [Self.certificate()])
      #expect(Self.judge(trust) == nil)
      #expect(trust.policy?.host == "study.example")
      #expect(trust.policy?.isServer == true)
      #expect(trust.anchors == nil)
    }

    @Test(
      "What the system does not trust is refused, whatever the pins say, and told apart",
      arguments: [
        (errSecCertificateExpired, "expired"), (errSecHostNameMismatch, "host name"),
        (errSecNotTrusted, "authority"), (errSecCreateChainFailed, "authority"), (-1, "-1"),
      ])
    func refused(_ code: OSStatus, _ word: String) {
      let error = Self.judge(
        SecTrust(stubChain: [Self.certificate()], failure: code), TLSPolicy(publicKeyPins: [Self.pin()]))
      #expect(error?.code == .untrustedServer)
      #expect(error?.message.contains(word) == true)
    }

    @Test("What cannot be asked is refused") func unusable() {
      #expect(Self.judge(SecTrust(stubChain: [Self.certificate()], status: -50))?.code == .untrustedServer)
    }

    @Test(
      "The pinned key is taken, of each kind",
      arguments: [
        (kSecAttrKeyTypeRSA, 2048, PublicKeyInfo.Algorithm.rsa), (kSecAttrKeyTypeRSA, 4096, .rsa),
        (kSecAttrKeyTypeECSECPrimeRandom, 256, .p256), (kSecAttrKeyTypeECSECPrimeRandom, 384, .p384),
        (kSecAttrKeyTypeECSECPrimeRandom, 521, .p521),
      ])
    func pinned(_ type: String, _ bits: Int, _ algorithm: PublicKeyInfo.Algorithm) {
      let trust = SecTrust(stubChain: [Self.certificate(type, bits)])
      let backup = "sha256//" + Data(repeating: 1, count: 32).base64EncodedString()
      #expect(Self.judge(trust, TLSPolicy(publicKeyPins: [backup, Self.pin(algorithm)])) == nil)
      #expect(Self.judge(trust, TLSPolicy(publicKeyPins: [backup]))?.code == .untrustedServer)
    }

    @Test("With pins a chain without a leaf, a key of another kind, and one that is not handed out are refused")
    func failsClosed() {
      let chains: [[SecCertificate]] = [
        [], [SecCertificate(stubDER: Data([0x30]), key: nil)], [Self.certificate("99")],
        [Self.certificate(kSecAttrKeyTypeECSECPrimeRandom, 224)], [Self.certificate(bytes: nil)],
        // Only the leaf counts.
        [SecCertificate(stubDER: Data([0x30]), key: nil), Self.certificate()],
      ]
      for chain in chains {
        let error = Self.judge(SecTrust(stubChain: chain), TLSPolicy(publicKeyPins: [Self.pin()]))
        #expect(error?.code == .untrustedServer)
      }
    }

    @Test("Authorities that are named are the only ones") func anchors() throws {
      let folder = TemporaryFolder()
      func pem(_ bytes: Data) -> String {
        "-----BEGIN CERTIFICATE-----\n\(bytes.base64EncodedString())\n-----END CERTIFICATE-----\n"
      }
      let path = folder.write("authorities.pem", pem(Data([0x30, 1])) + pem(Data([0x30, 2])))
      let trust = SecTrust(stubChain: [Self.certificate()])
      #expect(Self.judge(trust, TLSPolicy(certificateAuthorities: path)) == nil)
      #expect(trust.anchors?.map(\.der) == [Data([0x30, 1]), Data([0x30, 2])])
      #expect(trust.isAnchorsOnly)

      let none = folder.write("none.pem", pem(Data([0x31])))
      #expect(Self.judge(trust, TLSPolicy(certificateAuthorities: none))?.code == .invalidSyncSettings)
      let empty = folder.write("empty.pem", "nothing")
      #expect(Self.judge(trust, TLSPolicy(certificateAuthorities: empty))?.code == .invalidSyncSettings)
    }
  }
}
