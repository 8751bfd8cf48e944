import EncryptedSQLite
import Foundation
import NotificationSync
import TestSupport
import Testing

@Suite("What the environment cannot change")
struct TransportEnvironmentTests {
  let endpoint: Endpoint
  init() throws { endpoint = try Endpoint() }

  /// One request in a fresh process: the status, or the error's code.
  private func post(
    _ server: ScriptedServer, _ environment: [String: String], _ options: [String]? = nil
  ) throws -> String {
    let options = options ?? ["ca=" + endpoint.authority.certificate]
    let result = try Program.run(
      Program.helper, ["post", Endpoint.url(server)] + options, environment: environment)
    return result.lines.first.map { String($0.prefix { $0 != ":" }) } ?? "nothing: \(result.errors)"
  }

  @Test(
    "is whether a proxy is used",
    arguments: ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
  func proxies(_ variable: String) throws {
    let server = try ScriptedServer(endpoint.leaf)
    let proxy = try ScriptedServer(nil, .init(403))
    #expect(try post(server, [variable: "http://127.0.0.1:\(proxy.port)"]) == "200")
    #expect(proxy.connections == 0)
  }

  @Test("is whether the proxy of the settings is used", arguments: ["no_proxy", "NO_PROXY"])
  func noProxy(_ variable: String) throws {
    let server = try ScriptedServer(endpoint.leaf)
    let proxy = try ScriptedServer(nil, .init(403))
    let options = ["ca=" + endpoint.authority.certificate, "proxy=http://127.0.0.1:\(proxy.port)"]
    #expect(try post(server, [variable: "*"], options) == "connectionFailed")
    #expect(server.connections == 0)
    // It learns where the request goes, and nothing else of it.
    #expect(proxy.requests().map(\.method) == ["CONNECT"])
    #expect(proxy.requests().first?.path == "localhost:\(server.port)")
    #expect(proxy.requests().first?.headers["content-type"] == nil)
  }

  @Test("is that a session's secrets stay in memory", arguments: [false, true])
  func keyLog(afterOtherUse: Bool) throws {
    let server = try ScriptedServer(endpoint.leaf)
    let log = endpoint.folder.path("secrets")
    let options = ["ca=" + endpoint.authority.certificate] + (afterOtherUse ? ["after-libcurl"] : [])
    #expect(try post(server, ["SSLKEYLOGFILE": log], options) == "200")
    // libcurl makes it as it initialises, and the library does not change its process's environment.
    #expect(FileManager.default.contents(atPath: log)?.isEmpty ?? true)
  }

  @Test("stays as it is: a library does not change it")
  func unchanged() async {
    await #expect(processExitsWith: .success) {
      // A sink, for libcurl opens it.
      setenv("SSLKEYLOGFILE", "/dev/null", 1)
      let before = ProcessInfo.processInfo.environment
      _ = try SystemTransport(policy: TLSPolicy())
      #expect(ProcessInfo.processInfo.environment == before && before["SSLKEYLOGFILE"] == "/dev/null")
    }
  }

  @Test(
    "is whom an upload trusts",
    arguments: ["SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "CURL_SSL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
  func authorities(_ variable: String) throws {
    let server = try ScriptedServer(endpoint.leaf)
    var value = endpoint.authority.certificate
    if variable == "SSL_CERT_DIR" {
      value = endpoint.folder.path("authorities")
      let made = try Program.run(
        "/bin/sh",
        [
          "-c", #"mkdir "$2" && cp "$1" "$2/a.pem" && openssl rehash "$2""#, "sh", endpoint.authority.certificate,
          value,
        ])
      try #require(made.status == 0)
    }
    #expect(try post(server, [variable: value], []) == "untrustedServer")
    #expect(server.requests().isEmpty)
  }

  @Test("is how OpenSSL works: not by a configuration that takes its algorithms away", arguments: [false, true])
  func strangledOpenSSL(afterOtherUse: Bool) throws {
    let server = try ScriptedServer(endpoint.leaf)
    let configuration = endpoint.folder.write(
      "openssl.cnf",
      """
      openssl_conf = all
      [all]
      alg_section = algorithms
      [algorithms]
      default_properties = fips=yes
      """)
    let options = ["ca=" + endpoint.authority.certificate]
    // Where other code has let OpenSSL read it, nothing works: closed, not open.
    let outcome = try post(
      server, ["OPENSSL_CONF": configuration], options + (afterOtherUse ? ["after-libcurl"] : []))
    #expect((outcome == "200") == !afterOtherUse, "\(outcome)")

    let key = endpoint.folder.write("key", "a passphrase")
    let created = try Program.run(
      Program.helper, ["create", endpoint.folder.path("store.db"), key], environment: ["OPENSSL_CONF": configuration])
    #expect(created.lines == ["ok"])
  }

  @Test("is the oldest TLS, also where other code has let OpenSSL read its configuration", arguments: [false, true])
  func loweredTLS(afterOtherUse: Bool) throws {
    var settings = ScriptedServer.Settings()
    (settings.minimumTLS, settings.maximumTLS) = ("1.0", "1.1")
    let server = try ScriptedServer(endpoint.leaf, settings)
    let configuration = endpoint.folder.write(
      "openssl.cnf",
      """
      openssl_conf = all
      [all]
      ssl_conf = tls
      [tls]
      system_default = defaults
      [defaults]
      MinProtocol = TLSv1
      MaxProtocol = TLSv1.1
      CipherString = ALL:@SECLEVEL=0
      VerifyMode = None
      """)
    let options = ["ca=" + endpoint.authority.certificate] + (afterOtherUse ? ["after-libcurl"] : [])
    #expect(try post(server, ["OPENSSL_CONF": configuration], options) == "untrustedServer")
    #expect(server.requests().isEmpty)
    let stranger = try ScriptedServer(endpoint.authority.selfSigned())
    #expect(try post(stranger, ["OPENSSL_CONF": configuration], options).contains("200") == false)
    #expect(stranger.requests().isEmpty)
  }

  @Test(
    "is anything else",
    arguments: [
      "CURL_HOME", "HOME", "XDG_CONFIG_HOME", "OPENSSL_MODULES", "OPENSSL_ENGINES", "OPENSSL_CONF_INCLUDE",
      "CURL_SSL_BACKEND", "CURL_ENTROPY", "CURL_DEBUG", "NETRC",
    ])
  func others(_ variable: String) throws {
    let server = try ScriptedServer(endpoint.leaf)
    let proxy = try ScriptedServer(nil, .init(403))
    _ = endpoint.folder.write(".curlrc", "proxy = http://127.0.0.1:\(proxy.port)\ninsecure\n")
    _ = endpoint.folder.write(".netrc", "machine localhost login name password words\n")
    let value = variable == "CURL_SSL_BACKEND" ? "gnutls" : endpoint.folder.path
    #expect(try post(server, [variable: value]) == "200")
    #expect(proxy.connections == 0)
    #expect(server.requests().first?.headers.keys.sorted() == ["content-length", "content-type", "host"])
  }
}
