import EncryptedSQLite
import Foundation
import NotificationSync
import TestSupport
import Testing

@Suite("The transport's settings")
struct TransportSettingsTests {
  private let folder = TemporaryFolder()

  private func code(_ policy: TLSPolicy) -> SyncError.Code? {
    do {
      _ = try SystemTransport(policy: policy)
      return nil
    } catch {
      return (error as? SyncError)?.code
    }
  }

  static let digest = Data(repeating: 7, count: 32).base64EncodedString()

  @Test(
    "take as a pin sha256// and the base64 of 32 bytes alone",
    arguments: [
      "", "sha256//", "sha256//AAAA", digest, "sha1//" + digest, "SHA256//" + digest, "sha256//" + digest + " ",
      "sha256//" + digest + ";sha256//" + digest, "sha256//" + digest.dropLast(), "/etc/hostname",
      // The last digit has bits that no byte holds.
      "sha256//" + String(repeating: "A", count: 42) + "B=",
      "sha256//" + Data(repeating: 7, count: 33).base64EncodedString(),
    ])
  func pins(_ pin: String) {
    #expect(code(TLSPolicy(publicKeyPins: ["sha256//" + Self.digest, pin])) == .invalidSyncSettings)
    #expect(code(TLSPolicy(publicKeyPins: ["sha256//" + Self.digest])) == nil)
  }

  @Test(
    "take as a proxy http://host:port alone",
    arguments: [
      "", "proxy:3128", "https://proxy:3128", "socks5://proxy:3128", "http://proxy", "http://proxy:0",
      "http://proxy:65536", "http://proxy:3128/", "http://user:words@proxy:3128", "http://[::1:3128", "http://[]:3128",
      "http://proxy:+80", "http://:3128", "http://proxy :3128",
    ])
  func proxies(_ proxy: String) {
    #expect(code(TLSPolicy(proxy: proxy)) == .invalidSyncSettings)
    for good in ["http://proxy:3128", "http://127.0.0.1:1", "http://[::1]:65535"] {
      #expect(code(TLSPolicy(proxy: good)) == nil)
    }
  }

  @Test("name a file that is not there, a folder, and one half of a client's identity")
  func files() throws {
    let client = try TestAuthority(in: folder).client()
    #expect(code(TLSPolicy(clientCertificate: client.certificate, clientKey: client.key)) == nil)
    for policy in [
      TLSPolicy(certificateAuthorities: folder.path("none")), TLSPolicy(certificateAuthorities: folder.path),
      TLSPolicy(certificateAuthorities: ""), TLSPolicy(certificateAuthorities: client.certificate + "\0"),
      TLSPolicy(clientCertificate: client.certificate), TLSPolicy(clientKey: client.key),
      TLSPolicy(clientCertificate: folder.path("none"), clientKey: client.key),
      TLSPolicy(clientCertificate: client.certificate, clientKey: folder.path("none")),
    ] {
      #expect(code(policy) == .invalidSyncSettings)
    }
  }

  @Test("refuse a client's key that others can read")
  func exposedKey() throws {
    let client = try TestAuthority(in: folder).client()
    for mode in [0o640, 0o604, 0o620] {
      chmod(client.key, mode_t(mode))
      #expect(code(TLSPolicy(clientCertificate: client.certificate, clientKey: client.key)) == .keyExposed)
    }
  }

  @Test(
    "take an address of the form https://host:port/path alone",
    arguments: [
      "", "http://localhost/", "localhost", "https://", "https:///path", "https://user@localhost/",
      "https://user:words@localhost/", "https://localhost/?a=b", "https://localhost/#a", "https://localhost:0/",
      "https://localhost:65536/", "https://localhost:/", "https://local host/", "https://localhost/a b",
      "https://localhost/\r\nX: y", "https://localhost\\@other/", "https://localhost/\0", "https://b\u{FC}cher/",
      "https://localhost/\u{FC}", "https://[::1/", "file:///etc/passwd", "https://localhost%2f/",
    ])
  func addresses(_ url: String) async throws {
    let error = await failure(try SystemTransport(policy: TLSPolicy()), HTTPRequest(url: url, body: []))
    #expect(error?.code == .invalidSyncSettings)
    #expect(error?.message.contains("words") == false)
    #expect(try RequestTarget("HTTPS://a-b.example/c%20d/~e").origin == "https://a-b.example:443")
    #expect(try RequestTarget("https://[2001:db8::1]:8443").origin == "https://[2001:db8::1]:8443")
  }

  @Test(
    "refuse a header that would end its line, or is the transport's own",
    arguments: [
      ("X-One", "a\r\nX-Two: b"), ("X-One", "a\nb"), ("X-One", "a\rb"), ("X-One", "a\0b"), ("X-One", "a\u{7F}"),
      ("X One", "a"), ("X-One:", "a"), ("", "a"), ("X\r\nY", "a"), ("\u{FC}", "a"), ("Host", "other"),
      ("content-length", "1"), ("Transfer-Encoding", "chunked"), ("Expect", "100-continue"),
    ])
  func headers(_ name: String, _ value: String) async throws {
    // Its port is never reached.
    let request = HTTPRequest(url: "https://localhost:1/", headers: [(name, value)], body: [])
    #expect(await failure(try SystemTransport(policy: TLSPolicy()), request)?.code == .invalidSyncSettings)
  }
}
