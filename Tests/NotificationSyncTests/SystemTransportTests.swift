import EncryptedSQLite
import Foundation
import NotificationSync
import TestSupport
import Testing

@Suite("The transport")
struct SystemTransportTests {
  let endpoint: Endpoint
  init() throws { endpoint = try Endpoint() }

  @Test("sends the caller's headers and the body as they are, and nothing of its own but Host and Content-Length")
  func request() async throws {
    let server = try ScriptedServer(endpoint.leaf)
    var request = Endpoint.request(server, headers: [("Idempotency-Key", "\"a:b\""), ("X-Empty", "")])
    request.body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    _ = try await endpoint.transport().send(request)
    request.headers = []
    request.body = []
    _ = try await endpoint.transport().send(request)
    let requests = server.requests()
    try #require(requests.count == 2)
    #expect(requests.allSatisfy { $0.method == "POST" && $0.path == "/api/7/\(Endpoint.secret)/insert/" })
    #expect(
      requests[0].headers == [
        "host": "localhost:\(server.port)", "content-length": "300000", "content-type": "application/json",
        "idempotency-key": "\"a:b\"", "x-empty": "",
      ])
    #expect(requests[0].body == Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }))
    #expect(requests[1].headers == ["host": "localhost:\(server.port)", "content-length": "0"])
  }

  @Test("leaves the path as it is")
  func path() async throws {
    let server = try ScriptedServer(endpoint.leaf)
    let path = "/a/../b/./c%2F%20//d;e=f"
    _ = try await endpoint.transport().send(
      HTTPRequest(url: "https://localhost:\(server.port)\(path)", body: []))
    #expect(server.requests().map(\.path) == [path])
  }

  @Test("hands back status, headers and body, whatever the status")
  func response() async throws {
    let statuses = [200, 201, 204, 400, 401, 407, 413, 429, 500, 503]
    let server = try ScriptedServer(
      endpoint.leaf, .init(statuses.map { .init($0, "body of \($0)", headers: ["Retry-After": "7", "X-One": "a"]) }))
    let transport = try endpoint.transport()
    for status in statuses {
      let response = try await transport.send(Endpoint.request(server))
      #expect(response.status == status)
      #expect(response.headers["retry-after"] == "7" && response.headers["x-one"] == "a")
      #expect(response.body == (status == 204 ? [] : Array("body of \(status)".utf8)))
      #expect(!response.isCut)
    }
  }

  @Test("hands back a redirect and follows none", arguments: [301, 302, 303, 307, 308])
  func redirects(_ status: Int) async throws {
    let other = try ScriptedServer(endpoint.leaf)
    let server = try ScriptedServer(endpoint.leaf, .init(status, "", headers: ["Location": Endpoint.url(other)]))
    let response = try await endpoint.transport().send(Endpoint.request(server))
    #expect(response.status == status)
    #expect(response.headers["location"] == Endpoint.url(other))
    #expect(server.requests().count == 1 && other.connections == 0)
  }

  @Test("reads 64 KiB of a body and no more")
  func longBody() async throws {
    let whole = String(repeating: "x", count: HTTPResponse.longestBody)
    let server = try ScriptedServer(
      endpoint.leaf, .init(200, whole), .init(200, whole + "y"),
      ScriptedServer.Step(200, String(repeating: "z", count: 10_000_000)).with { $0.trickle = 1_000_000 })
    let transport = try endpoint.transport()
    let exact = try await transport.send(Endpoint.request(server))
    #expect(exact.body.count == HTTPResponse.longestBody && !exact.isCut)
    for _ in 0..<2 {
      let cut = try await transport.send(Endpoint.request(server))
      #expect(cut.status == 200 && cut.body.count == HTTPResponse.longestBody && cut.isCut)
    }
  }

  @Test("does not read header lines without end")
  func longHead() async throws {
    let server = try ScriptedServer(
      endpoint.leaf, .init(200, "", headers: ["X-Long": String(repeating: "x", count: 70_000)]))
    #expect(await failure(try endpoint.transport(), Endpoint.request(server))?.code == .invalidResponse)
  }

  @Test("keeps its connection: 20 requests go over one")
  func keepAlive() async throws {
    let server = try ScriptedServer(endpoint.leaf)
    let transport = try endpoint.transport()
    for _ in 0..<20 { _ = try await transport.send(Endpoint.request(server)) }
    #expect(server.requests().count == 20 && server.connections == 1)
  }

  @Test("takes a new connection where the server closed the old one")
  func closedConnection() async throws {
    let transport = try endpoint.transport()
    var settings = ScriptedServer.Settings()
    let server = try ScriptedServer(endpoint.leaf, settings)
    #expect(try await transport.send(Endpoint.request(server)).status == 200)
    server.stop()
    settings.port = server.port
    let restarted = try ScriptedServer(endpoint.leaf, settings)
    #expect(try await transport.send(Endpoint.request(restarted)).status == 200)
    #expect(restarted.requests().count == 1)
  }

  @Test("judges the key anew on a new connection")
  func replacedServer() async throws {
    let transport = try endpoint.transport(pins: [endpoint.leaf.pin])
    var settings = ScriptedServer.Settings()
    let server = try ScriptedServer(endpoint.leaf, settings)
    #expect(try await transport.send(Endpoint.request(server)).status == 200)
    server.stop()
    settings.port = server.port
    let impostor = try ScriptedServer(endpoint.authority.leaf(), settings)
    #expect(await failure(transport, Endpoint.request(impostor))?.code == .untrustedServer)
    #expect(impostor.requests().isEmpty)
  }

  @Test("says that a connection broke, wherever it did, and works on", arguments: [false, true])
  func brokenConnections(byReset: Bool) async throws {
    for moment in [ScriptedServer.Step.Close.beforeReading, .afterReading, .midHead, .midBody] {
      let server = try ScriptedServer(endpoint.leaf, .close(moment, reset: byReset), .acknowledge)
      let transport = try endpoint.transport()
      let request = Endpoint.request(server, body: String(repeating: " ", count: 2_000_000))
      let error = await failure(transport, request)
      #expect(error?.code == .connectionFailed, "\(moment): \(error as Any)")
      #expect(error?.message.contains(Endpoint.secret) == false)
      #expect(try await transport.send(Endpoint.request(server)).status == 200)
    }
  }

  @Test("names a host without address, and a port where nobody listens")
  func unreachable() async throws {
    let server = try ScriptedServer(endpoint.leaf)
    let request = Endpoint.request(server)
    server.stop()
    let refused = await failure(try endpoint.transport(), request)
    #expect(refused?.code == .connectionFailed && refused?.message.contains("cannot connect") == true)
    let nameless = await failure(try endpoint.transport(), Endpoint.request(server, host: "server.invalid"))
    #expect(nameless?.code == .connectionFailed && nameless?.message.contains("has no address") == true)
    for error in [refused, nameless] { #expect(error?.message.contains(Endpoint.secret) == false) }
  }

  // Where a limit did not work, each of these servers would bring another outcome in the end.

  @Test("waits for no answer beyond its time")
  func silence() async throws {
    let late = ScriptedServer.Step.acknowledge.with { $0.delay = 6 }
    let server = try ScriptedServer(endpoint.leaf, late)
    let transport = try endpoint.transport(timeouts: TransportTimeouts(request: 0.5))
    #expect(await failure(transport, Endpoint.request(server))?.code == .timedOut)
  }

  @Test("gives a long body the time that a slow line needs, and no more than that where a limit is one")
  func longBodyInTime() async throws {
    let late = ScriptedServer.Step.acknowledge.with { $0.delay = 1.5 }
    let server = try ScriptedServer(endpoint.leaf, late)
    let request = Endpoint.request(server, body: String(repeating: " ", count: 200_000))
    let patient = try endpoint.transport(timeouts: TransportTimeouts(request: 0.5))
    #expect(try await patient.send(request).status == 200)
    #expect(await failure(try endpoint.transport(timeouts: .within(0.5)), request)?.code == .timedOut)
  }

  @Test("waits for no handshake beyond its time")
  func silentHandshake() async throws {
    let listener = try PlainListener(closingAfter: 6)
    let transport = try endpoint.transport(timeouts: TransportTimeouts(connect: 0.5))
    let request = HTTPRequest(url: "https://localhost:\(listener.port)/", body: [])
    #expect(await failure(transport, request)?.code == .timedOut)
  }

  @Test("waits for no answer that comes byte by byte")
  func trickle() async throws {
    let trickle = ScriptedServer.Step(200, String(repeating: "x", count: 60)).with { $0.trickle = 10 }
    let server = try ScriptedServer(endpoint.leaf, trickle)
    for timeouts in [TransportTimeouts(request: 0.5), TransportTimeouts(stall: 1)] {
      #expect(await failure(try endpoint.transport(timeouts: timeouts), Endpoint.request(server))?.code == .timedOut)
    }
  }

  @Test("is cancelled in the midst of a request, and sends the next one")
  func cancellation() async throws {
    let server = try ScriptedServer(endpoint.leaf, .hang, .acknowledge)
    let transport = try endpoint.transport()
    let request = Endpoint.request(server)
    let hanging = Task { await failure(transport, request) }
    while server.requests().isEmpty { try await Task.sleep(nanoseconds: 1_000_000) }
    hanging.cancel()
    #expect(await hanging.value?.code == .cancelled)
    #expect(try await transport.send(Endpoint.request(server)).status == 200)
  }

  @Test("is cancelled before a request begins")
  func earlyCancellation() async throws {
    let server = try ScriptedServer(endpoint.leaf)
    let transport = try endpoint.transport()
    let request = Endpoint.request(server)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return await failure(transport, request)
    }
    task.cancel()
    #expect(await task.value?.code == .cancelled)
    #expect(server.connections == 0)
  }

  @Test("serves several callers, one after another")
  func severalCallers() async throws {
    let server = try ScriptedServer(endpoint.leaf)
    let transport = try endpoint.transport()
    let request = Endpoint.request(server)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<10 { group.addTask { try await transport.send(request).status } }
      for try await status in group { #expect(status == 200) }
    }
    #expect(server.requests().count == 10 && server.connections == 1)
  }

  @Test("says that an answer is not HTTP")
  func notHTTP() async throws {
    let server = try Program.start(
      "/usr/bin/env",
      [
        "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", endpoint.leaf.certificate, "-key", endpoint.leaf.key,
      ])
    defer { server.kill() }
    try #require(server.waitForLine("ACCEPT"))
    let line = server.output.split(separator: "\n").first { $0.hasPrefix("ACCEPT") } ?? ""
    let port = line.split(separator: ":").last ?? ""
    server.type("220 mail.example ESMTP\r\n")
    let request = HTTPRequest(url: "https://localhost:\(port)/\(Endpoint.secret)/", body: [])
    let error = await failure(try endpoint.transport(), request)
    #expect(error?.code == .invalidResponse && error?.message.contains(Endpoint.secret) == false, "\(error as Any)")
  }

  @Test("goes through a proxy, which sees the server's name and nothing else")
  func proxy() async throws {
    let proxy = try Program.start(Program.python, [Program.root + "/Tests/Servers/tunnel.py"])
    defer { proxy.kill() }
    try #require(proxy.waitForFirstLine())
    let port = proxy.output.split(separator: "\n").first ?? ""
    let server = try ScriptedServer(endpoint.leaf, .acknowledge)
    let transport = try endpoint.transport(proxy: "http://127.0.0.1:\(port)")
    let response = try await transport.send(Endpoint.request(server))
    #expect(response.status == 200 && response.headers["x-proxy"] == nil)
    #expect(proxy.output.split(separator: "\n").dropFirst() == ["CONNECT localhost:\(server.port) HTTP/1.1"])
    #expect(server.requests().count == 1)

    // The server behind it is judged as any other.
    let stranger = try ScriptedServer(endpoint.authority.selfSigned())
    #expect(await failure(transport, Endpoint.request(stranger))?.code == .untrustedServer)
  }
}
