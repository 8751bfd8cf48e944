import EncryptedSQLite
import NotificationSync
import TestSupport
import Testing

@Suite("Whom an upload trusts")
struct TransportTrustTests {
  let endpoint: Endpoint
  init() throws { endpoint = try Endpoint() }

  /// Sends to a server that must get nothing, and checks what the error says.
  private func refuses(
    _ server: ScriptedServer, by transport: SystemTransport? = nil, saying words: String
  ) async throws {
    let error = await failure(try transport ?? endpoint.transport(), Endpoint.request(server))
    #expect(error?.code == .untrustedServer)
    let message = error?.message ?? ""
    #expect(message.contains(words) && message.contains("https://localhost:\(server.port)"), "\(message)")
    #expect(!message.contains(Endpoint.secret) && !message.contains("/api/"))
    #expect(server.requests().isEmpty)
  }

  @Test("a server whose certificate comes from the authority named")
  func trusted() async throws {
    let server = try ScriptedServer(endpoint.leaf)
    let response = try await endpoint.transport().send(Endpoint.request(server))
    #expect(response.status == 200)
    #expect(server.handshakes.map(\.version) == ["TLSv1.3"])
  }

  @Test("a server of TLS 1.2")
  func trustedTLS12() async throws {
    var settings = ScriptedServer.Settings()
    settings.maximumTLS = "1.2"
    let server = try ScriptedServer(endpoint.leaf, settings)
    #expect(try await endpoint.transport().send(Endpoint.request(server)).status == 200)
    #expect(server.handshakes.map(\.version) == ["TLSv1.2"])
  }

  @Test("not one with a self-signed certificate")
  func selfSigned() async throws {
    try await refuses(ScriptedServer(endpoint.authority.selfSigned()), saying: "no authority that is trusted here")
  }

  @Test("not one of another authority")
  func otherAuthority() async throws {
    let other = try TestAuthority(in: endpoint.folder, name: "Other authority")
    try await refuses(ScriptedServer(other.leaf()), saying: "no authority that is trusted here")
  }

  @Test("not a private authority that was not named")
  func systemAuthorities() async throws {
    try await refuses(
      ScriptedServer(endpoint.leaf), by: SystemTransport(policy: TLSPolicy()),
      saying: "no authority that is trusted here")
  }

  @Test("not one with an expired certificate")
  func expired() async throws {
    try await refuses(ScriptedServer(endpoint.authority.leaf(expired: true)), saying: "has expired")
  }

  @Test("not one whose certificate names another host")
  func wrongHost() async throws {
    try await refuses(
      ScriptedServer(endpoint.authority.leaf(names: ["other.example"])), saying: "is for another host name")
  }

  @Test("not one whose key is not pinned, however good its certificate")
  func wrongPin() async throws {
    let transport = try endpoint.transport(pins: [endpoint.authority.leaf().pin])
    try await refuses(ScriptedServer(endpoint.leaf), by: transport, saying: "none of those pinned")
  }

  @Test("one with a pinned key, also as the backup, also after its certificate was renewed")
  func pins() async throws {
    let backup = try endpoint.authority.leaf()
    let transport = try endpoint.transport(pins: [endpoint.leaf.pin, backup.pin])
    for identity in [endpoint.leaf, backup, try endpoint.authority.leaf(key: endpoint.leaf)] {
      let server = try ScriptedServer(identity)
      #expect(try await transport.send(Endpoint.request(server)).status == 200)
    }
  }

  @Test("a pin takes the place of no check")
  func pinAlone() async throws {
    let selfSigned = try endpoint.authority.selfSigned()
    try await refuses(
      ScriptedServer(selfSigned), by: endpoint.transport(pins: [selfSigned.pin]),
      saying: "no authority that is trusted here")
    let expired = try endpoint.authority.leaf(expired: true)
    try await refuses(
      ScriptedServer(expired), by: endpoint.transport(pins: [expired.pin]), saying: "has expired")
  }

  @Test("not one that speaks TLS 1.0 or 1.1 alone")
  func oldTLS() async throws {
    var settings = ScriptedServer.Settings()
    (settings.minimumTLS, settings.maximumTLS) = ("1.0", "1.1")
    try await refuses(ScriptedServer(endpoint.leaf, settings), saying: "no TLS of 1.2 or newer")
  }

  @Test("not one that speaks plain HTTP on its port")
  func noTLS() async throws {
    let listener = try PlainListener(saying: "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    let request = HTTPRequest(url: "https://localhost:\(listener.port)/\(Endpoint.secret)/", body: [])
    let error = await failure(try endpoint.transport(), request)
    #expect(error?.code == .untrustedServer)
    #expect(error?.message.contains("speaks no TLS:") == true && error?.message.contains(Endpoint.secret) == false)
  }

  @Test(
    "shows a client certificate to a server that asks for one, and says so when it has none", arguments: ["1.2", "1.3"])
  func clientCertificate(_ version: String) async throws {
    var settings = ScriptedServer.Settings()
    settings.clientAuthority = endpoint.authority.certificate
    settings.maximumTLS = version
    let server = try ScriptedServer(endpoint.leaf, settings)
    let client = try endpoint.authority.client(name: "phone 7")
    #expect(try await endpoint.transport(client: client).send(Endpoint.request(server)).status == 200)
    #expect(server.handshakes.last?.client == "phone 7")

    let stranger = try TestAuthority(in: endpoint.folder, name: "Other authority").client()
    for unfit in [nil, stranger, try endpoint.authority.client(expired: true)] {
      let error = await failure(try endpoint.transport(client: unfit), Endpoint.request(server))
      // In TLS 1.3 a client goes on sending until the server's verdict comes, and may meet a closed connection first.
      let isOvertaken = version == "1.3" && error?.code == .connectionFailed
      #expect(error?.code == .untrustedServer || isOvertaken, "\(error as Any)")
      let message = error?.message ?? ""
      #expect(message.contains("client's certificate") || message.contains("client certificate") || isOvertaken)
    }
    #expect(server.requests().count == 1)
  }

  @Test("says which of its own files is of no use")
  func unusableFiles() async throws {
    let server = try ScriptedServer(endpoint.leaf)
    let noPEM = endpoint.folder.write("no.pem", "no certificate")
    let authorities = try SystemTransport(policy: TLSPolicy(certificateAuthorities: noPEM))
    #expect(await failure(authorities, Endpoint.request(server))?.code == .invalidSyncSettings)

    // A key that is not the certificate's.
    let (one, other) = (try endpoint.authority.client(), try endpoint.authority.client())
    let mixed = try SystemTransport(
      policy: TLSPolicy(
        certificateAuthorities: endpoint.authority.certificate, clientCertificate: one.certificate, clientKey: other.key
      ))
    #expect(await failure(mixed, Endpoint.request(server))?.code == .invalidSyncSettings)

    // A key with a passphrase, which nobody is there to type.
    let locked = endpoint.folder.path("locked.key")
    _ = try Program.run(
      "/usr/bin/env",
      ["openssl", "pkey", "-in", one.key, "-aes256", "-passout", "pass:words", "-out", locked])
    let unopened = try SystemTransport(
      policy: TLSPolicy(
        certificateAuthorities: endpoint.authority.certificate, clientCertificate: one.certificate, clientKey: locked))
    #expect(await failure(unopened, Endpoint.request(server))?.code == .invalidSyncSettings)
    #expect(server.requests().isEmpty)
  }
}
