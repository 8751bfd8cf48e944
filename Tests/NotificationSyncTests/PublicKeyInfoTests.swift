import EncryptedSQLite
import Foundation
import TestSupport
import Testing

@testable import NotificationSync

@Suite("Certificates and keys in bytes")
struct PublicKeyInfoTests {
  private let folder = TemporaryFolder()

  /// The standard output of a shell's line, which finds `arguments` in $1 and on.
  private func bytes(_ line: String, _ arguments: String...) throws -> [UInt8] {
    let file = folder.path("bytes")
    let result = try Program.run("/bin/sh", ["-c", "(\(line)) > \"$0\"", file] + arguments)
    try #require(result.status == 0, "\(result.errors)")
    return Array(FileManager.default.contents(atPath: file) ?? Data())
  }

  @Test("A key and its algorithm make what openssl puts into a certificate", arguments: [2048, 3072, 4096])
  func rsa(_ size: Int) throws {
    let key = folder.path("key")
    _ = try bytes("openssl genrsa -out \"$1\" $2", key, "\(size)")
    let alone = try bytes("openssl rsa -in \"$1\" -RSAPublicKey_out -outform DER", key)
    #expect(try PublicKeyInfo.der(.rsa, key: alone) == bytes("openssl pkey -in \"$1\" -pubout -outform DER", key))
  }

  @Test("so for elliptic curves", arguments: [("P-256", 65), ("P-384", 97), ("P-521", 133)])
  func curves(_ curve: String, _ size: Int) throws {
    let key = folder.path("key")
    _ = try bytes("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:$2 -out \"$1\"", key, curve)
    let whole = try bytes("openssl pkey -in \"$1\" -pubout -outform DER", key)
    // The point is the end of it: 04, X and Y.
    let point = whole.suffix(size)
    let algorithm: PublicKeyInfo.Algorithm = ["P-256": .p256, "P-384": .p384][curve] ?? .p521
    #expect(point.first == 4 && PublicKeyInfo.der(algorithm, key: point) == whole)
  }

  @Test("PEM gives each certificate of a bundle, whatever stands between them")
  func bundle() throws {
    let authority = try TestAuthority(in: folder)
    let chain = try authority.leaf().chain
    let expected = try [bytes("openssl x509 -outform DER -in \"$1\"", chain)].map { Data($0) }
    let text = try String(contentsOfFile: chain, encoding: .utf8)
    let certificates = PEM.certificates(
      in: "# mine\n" + text.replacingOccurrences(of: "\n", with: "\r\n") + "\n\n# end")
    #expect(certificates?.count == 2 && certificates?.first == expected.first)
  }

  @Test(
    "PEM gives nothing of a bundle that is not whole",
    arguments: [
      "", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n",
      "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----",
      "-----BEGIN CERTIFICATE-----\nA*AA\n-----END CERTIFICATE-----",
      "-----BEGIN CERTIFICATE-----\nAAAA\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
      "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\nAAAA",
    ])
  func brokenBundle(_ text: String) {
    #expect(PEM.certificates(in: text) == nil)
  }
}
