import EncryptedSQLite
import Foundation
import TestSupport
import Testing

@testable import NotificationSync

@Suite("A message's signature") struct MessageSignatureTests {
  @Test("gives RFC 9421's own example (appendix B.2.5), with its secret (B.1.5)") func example() throws {
    let secret = try #require(
      Data(base64Encoded: "uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ=="))
    let key = try SigningKey(secret, id: "test-shared-secret")
    let signature = MessageSignature(
      components: [
        ("date", "Tue, 20 Apr 2021 02:07:55 GMT"), ("@authority", "example.com"), ("content-type", "application/json"),
      ], parameters: [("created", "1618884473"), ("keyid", MessageSignature.quoted(key.id))])
    #expect(
      signature.base == """
        "date": Tue, 20 Apr 2021 02:07:55 GMT
        "@authority": example.com
        "content-type": application/json
        "@signature-params": ("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"
        """)
    #expect(signature.value(key) == ":pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=:")
  }

  /// From Examples/receiver/PROTOCOL.md, for which the receiver has a test as well.
  @Test("is made with a key file's bytes as the protocol's test vector says") func keyFiles() throws {
    let text = try String(contentsOfFile: Program.root + "/Examples/receiver/PROTOCOL.md", encoding: .utf8)
    func block(_ name: String) throws -> String {
      let parts = text.components(separatedBy: "```\(name)\n")
      return try #require(parts.dropFirst().first?.components(separatedBy: "\n```").first)
    }
    let base = Array(try block("text").utf8)
    let digits = try block("key")
    let folder = TemporaryFolder()
    let vectors = text.split(separator: "\n").filter { $0.contains(" | the digits") }
    #expect(vectors.count == 5)
    for vector in vectors {
      let cells = vector.split(separator: "|").map { $0.trimmingCharacters(in: [" ", "`"]) }
      let end = cells[0] == "none" ? "" : cells[0].replacing("\\n", with: "\n").replacing("\\r", with: "\r")
      let path = folder.write("key", digits + end)
      let key = try KeyFile.withBytes(of: path) { try SigningKey($0, id: "phone-7") }
      let code = Data(key.authenticationCode(of: base)).base64EncodedString()
      #expect("batch=:\(code):" == cells[2], "\(cells[0])")
    }
  }

  @Test("of a batch covers method, authority, path, type, digest and idempotency key") func batch() throws {
    let host = try UploadHost("https://Study.Example.org:8443/base/", serverType: .aware_micro)
    let body = Array(#"{"hello": "world"}"#.utf8)
    let request = SignedRequest(
      place: UploadPlace(host, segments: ["api", "1", "a/b c", "insert"], endsWithSlash: true),
      contentType: "application/json", idempotencyKey: "k-1", body: body, digest: PlatformCrypto.sha256(body),
      tag: "aware-batch"
    ).request(key: try SigningKey(Array(repeating: 7, count: 32), id: #"de"v\1"#), time: 1_618_884_473)
    let headers = Dictionary(uniqueKeysWithValues: request.headers.map { ($0.name, $0.value) })
    #expect(request.url == "https://study.example.org:8443/base/api/1/a%2Fb%20c/insert/")
    // RFC 9530, appendix D.
    #expect(headers["Content-Digest"] == "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:")
    #expect(headers["Idempotency-Key"] == #""k-1""#)
    #expect(
      headers["Signature-Input"]
        == #"sig1=("@method" "@authority" "@path" "content-type" "content-digest" "idempotency-key")"#
        + #";created=1618884473;keyid="de\"v\\1";tag="aware-batch""#)
    #expect(headers["Signature"]?.hasPrefix("sig1=:") == true)
  }

  @Test("is left out without a key") func unsigned() throws {
    let host = try UploadHost("h", serverType: .aware_micro)
    let request = SignedRequest(
      place: UploadPlace(host, segments: [], endsWithSlash: true), contentType: "application/json",
      idempotencyKey: "k", body: [], digest: PlatformCrypto.sha256([]), tag: "aware-batch"
    ).request(key: nil, time: 0)
    #expect(!request.headers.contains { $0.name.hasPrefix("Signature") })
  }

  @Test("needs a key of 32 bytes with an id that fits a header, and the key is shown nowhere") func keys() throws {
    func code(_ count: Int, _ id: String) -> SyncError.Code? {
      do {
        _ = try SigningKey(Array(repeating: 1, count: count), id: id)
        return nil
      } catch { return (error as? SyncError)?.code }
    }
    #expect(code(31, "k") == .invalidSyncSettings)
    #expect(code(32, "") == .invalidSyncSettings)
    #expect(code(32, "a\r\nb") == .invalidSyncSettings)
    #expect(code(32, "k") == nil)
    let key = try SigningKey(Array("secret-secret-secret-secret-secret".utf8), id: "k")
    var dumped = ""
    dump(key, to: &dumped)
    #expect(!"\(key)\(String(reflecting: key))\(dumped)".contains("secret-"))
  }
}
