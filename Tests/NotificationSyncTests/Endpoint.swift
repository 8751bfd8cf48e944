import EncryptedSQLite
import NotificationSync
import TestSupport

/// An authority, a server's certificate of it, and the requests that tests send there.
struct Endpoint {
  let folder = TemporaryFolder()
  let authority: TestAuthority
  let leaf: TestAuthority.Identity

  init() throws {
    authority = try TestAuthority(in: folder)
    leaf = try authority.leaf()
  }

  /// What an error may never show.
  static let secret = "s3cr3t"

  static func url(_ server: ScriptedServer, host: String = "localhost") -> String {
    "https://\(host):\(server.port)/api/7/\(secret)/insert/"
  }

  static func request(
    _ server: ScriptedServer, host: String = "localhost", headers: [(String, String)] = [], body: String = "{}"
  ) -> HTTPRequest {
    HTTPRequest(
      url: url(server, host: host), headers: [("Content-Type", "application/json")] + headers, body: Array(body.utf8))
  }

  /// A transport that trusts the authority.
  func transport(
    pins: [String] = [], client: TestAuthority.Identity? = nil, proxy: String? = nil,
    timeouts: TransportTimeouts = TransportTimeouts()
  ) throws -> SystemTransport {
    try SystemTransport(
      policy: TLSPolicy(
        certificateAuthorities: authority.certificate, publicKeyPins: pins, clientCertificate: client?.chain,
        clientKey: client?.key, proxy: proxy),
      timeouts: timeouts)
  }
}

/// The error of a request that must fail; nil when it did not.
func failure(_ transport: SystemTransport, _ request: HTTPRequest) async -> SyncError? {
  do {
    _ = try await transport.send(request)
    return nil
  } catch {
    return error as? SyncError
  }
}
