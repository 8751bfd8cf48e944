import Foundation
import TestSupport
import Testing

struct ReceiverTests {
  @Test func itsOwnTestsPass() throws {
    let result = try Program.run(
      Program.python, ["-B", Program.root + "/Tests/ReceiverTests/test_receiver.py"])
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.errors.contains("\nOK"), "\(result.errors)")
  }

  @Test func aReceiverKeepsItsPortAndItsStoreWhenItIsStartedAgain() throws {
    let folder = TemporaryFolder()
    let authority = try TestAuthority(in: folder)
    let receiver = try Receiver(authority.leaf())
    let port = receiver.port
    #expect(try post(batch("a"), to: receiver.host, authority) == #"200 {"accepted":1,"duplicates":0}"#)
    receiver.kill()
    receiver.options.misbehaviour = [#"{"status": 503, "body": "later"}"#]
    try receiver.start()
    #expect(receiver.port == port)
    #expect(try post(batch("b"), to: receiver.host, authority) == "503 later")
    receiver.stop()
    receiver.options = Receiver.Options()
    try receiver.start()
    #expect(try post(batch("a"), to: receiver.host, authority) == #"200 {"accepted":0,"duplicates":1}"#)
    #expect(receiver.rows(in: "ios_notification") == 1)
    #expect(receiver.distinctRecordIds(in: "ios_notification") == 1)
    #expect(receiver.values(of: "recordId", in: "ios_notification") == ["a"])
    #expect(receiver.batches == 2)
    #expect(receiver.rawRequests.map(\.body) == ["a", "b", "a"].map { Data(batch($0).utf8) })
    #expect(receiver.log.compactMap { $0["status"] as? Int } == [200, 503, 200])
  }

  private func batch(_ id: String) -> String {
    #"{"deviceId":"d","tableName":"ios_notification","timestamp":1,"data":[{"recordId":"\#(id)"}]}"#
  }
}

struct ScriptedServerTests {
  @Test func eachRequestGetsTheNextStepThatMatches() throws {
    let folder = TemporaryFolder()
    let authority = try TestAuthority(in: folder)
    let server = try ScriptedServer(
      authority.leaf(), .init(503, "later"), .acknowledge.with { $0.match.table = "b" }, .init(200, "{rows}"))
    let host = "https://localhost:\(server.port)"
    #expect(try post(#"{"tableName":"a","data":[{},{}]}"#, to: host, authority) == "503 later")
    #expect(try post(#"{"tableName":"a","data":[{},{}]}"#, to: host, authority) == "200 2")
    #expect(
      try post(#"{"tableName":"b","data":{"x":[1,2,3]}}"#, to: host, authority)
        == #"200 {"accepted":3,"duplicates":0}"#)
    #expect(try post("x", to: host, authority) == "200 0")
    #expect(server.requests().map(\.path) == Array(repeating: "/insert/", count: 4))
    #expect(server.requests().last?.body == Data("x".utf8))
    #expect(server.requests().last?.headers["content-type"] == "application/json")
    #expect(server.connections == 4)
    #expect(server.handshakes.map(\.version) == Array(repeating: "TLSv1.3", count: 4))
  }

  @Test func aConnectionIsClosedInEachOfTheWays() throws {
    let folder = TemporaryFolder()
    let authority = try TestAuthority(in: folder)
    let server = try ScriptedServer(
      authority.leaf(), .close(.beforeReading, reset: true), .close(.afterReading), .close(.midBody), .init(204))
    for body in ["", "x", "x"] {
      #expect(try post("x", to: "https://localhost:\(server.port)", authority) == "failed")
      #expect(server.requests().last?.body == Data(body.utf8))
    }
    #expect(try post("x", to: "https://localhost:\(server.port)", authority) == "204 ")
  }

  @Test func certificatesAreWhatTheyAreSaidToBe() throws {
    let folder = TemporaryFolder()
    let authority = try TestAuthority(in: folder)
    let leaf = try authority.leaf()
    #expect(try authority.leaf(key: leaf).pin == leaf.pin)
    #expect(try authority.leaf().pin != leaf.pin)
    #expect(leaf.pin.hasPrefix("sha256//") && leaf.pin.count == 52)
    func answer(_ identity: TestAuthority.Identity, _ change: (inout ScriptedServer.Settings) -> Void = { _ in })
      throws -> String
    {
      var settings = ScriptedServer.Settings()
      change(&settings)
      let server = try ScriptedServer(identity, settings)
      return try post("x", to: "https://localhost:\(server.port)", authority)
    }
    #expect(try answer(leaf) == "200 ")
    #expect(try answer(authority.leaf(expired: true)) == "failed")
    #expect(try answer(authority.leaf(names: ["other.example"])) == "failed")
    #expect(try answer(authority.selfSigned()) == "failed")
    #expect(try answer(TestAuthority(in: folder, name: "Another").leaf()) == "failed")
    #expect(try answer(leaf) { $0.maximumTLS = "1.2" } == "200 ")
    #expect(try answer(leaf) { ($0.minimumTLS, $0.maximumTLS) = ("1.0", "1.1") } == "failed")
    #expect(try answer(leaf) { $0.clientAuthority = authority.certificate } == "failed")
  }

  @Test func aServerKnowsItsClientByTheCertificate() throws {
    let folder = TemporaryFolder()
    let authority = try TestAuthority(in: folder)
    var settings = ScriptedServer.Settings()
    settings.clientAuthority = authority.certificate
    let server = try ScriptedServer(authority.leaf(), settings)
    let client = try authority.client(name: "phone")
    #expect(try post("x", to: "https://localhost:\(server.port)", authority, client) == "200 ")
    #expect(server.handshakes.first?.client == "phone")
  }
}

/// Posts by Python: the answer's status and body, or "failed".
private func post(
  _ body: String, to host: String, _ authority: TestAuthority, _ client: TestAuthority.Identity? = nil
) throws -> String {
  let script = """
    import http.client, ssl, sys
    tls = ssl.create_default_context(cafile=sys.argv[2])
    if len(sys.argv) > 3:
        tls.load_cert_chain(*sys.argv[3:])
    connection = http.client.HTTPSConnection(sys.argv[1].removeprefix("https://"), context=tls, timeout=30)
    try:
        connection.request("POST", "/insert/", sys.stdin.read(), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        print(answer.status, answer.read().decode(), end="")
    except (OSError, http.client.HTTPException):
        print("failed", end="")
    """
  let arguments = ["-c", script, host, authority.certificate] + (client.map { [$0.certificate, $0.key] } ?? [])
  return try Program.run(Program.python, arguments, input: body).output
}
