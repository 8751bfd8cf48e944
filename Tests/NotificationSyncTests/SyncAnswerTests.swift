import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import NotificationSync

@Suite("What a sync makes of an answer") struct SyncAnswerTests {
  private static let phpError = "<div><h4>A PHP Error was encountered</h4><p>Severity: Notice</p></div>"
  private static let portal = "<!DOCTYPE html><html><head><title>Wi-Fi</title></head><body>Log in</body></html>"

  /// Answers that mean no, and what the error says of each.
  private static let refusals: [(Step, says: String)] = [
    (Step(200, #"[{"message":"The study key is invalid."}]"#), "The study key is invalid."),
    (Step(200, #"[{"message":"This study is not ongoing anymore."}]"#), "This study is not ongoing anymore."),
    (Step(200, #"[{"message":"I don't know who you are."}]"#), "I don't know who you are."),
    (Step(200, "Disallowed Key Characters."), "Disallowed Key Characters"),
    (Step(200, phpError), "a PHP error page"),
    (Step(200, portal), "an HTML page"),
    (Step(200, "<html>\(SyncBench.content)</html>"), "an HTML page"),
    (Step(201, #"{"status":404,"message":"Not found"}"#), "status: 404, message: \"Not found\""),
    (Step(200, #"{"success":false}"#), "success: false"),
    (Step(200, #"{"status":"error"}"#), "status: \"error\""),
    (Step(200, #"{"status":"ok","success":false}"#), "success: false"),
    (Step(200, #"{"status":"ok","error":"\#(SyncBench.content)"}"#), "error: a text of"),
    (Step(200, #"{"inserted":9}"#), "inserted: 9"),
    (Step(200, #"{"inserted":"10"}"#), "inserted: a text of"),
    (Step(200, #"{"accepted":9,"duplicates":0}"#), "accepted: 9, duplicates: 0"),
    (Step(200, #"{"accepted":11,"duplicates":-1}"#), "accepted: 11"),
    (Step(200, #"{"accepted":10,"duplicates":1}"#), "duplicates: 1"),
    (Step(200, #"{"accepted":10}"#), "accepted: 10"),
    (Step(200, #"{"accepted":true,"duplicates":9}"#), "accepted: true"),
    (Step(200, #"{"accepted":10,"duplicates":0,"\#(SyncBench.content)":1}"#), "1 other members"),
    (Step(200, #"{"result":{"ok":true}}"#), "1 other members"),
    (Step(200, #"[]"#), "JSON of another shape"), (Step(200, "null"), "JSON of another shape"),
    (Step(200, "true"), "JSON of another shape"), (Step(200, "\"ok\""), "JSON of another shape"),
    (Step(200, "OK"), "2 bytes of text"), (Step(200, " "), "1 bytes of text"),
    (Step(200, #"{"accepted":10,"duplicates""#), "bytes of text"),
    (Step(200, String(repeating: " ", count: 70_000) + #"{"accepted":10,"duplicates":0}"#), "more than 64 KiB"),
    (Step(301, "", headers: ["Location": "https://localhost/"]), "redirect"),
    (Step(307, #"{"accepted":10,"duplicates":0}"#, headers: ["Location": "/"]), "redirect"),
    (Step(400), "400"), (Step(401), "401"), (Step(403, #"{"accepted":10,"duplicates":0}"#), "403"), (Step(404), "404"),
    (Step(409), "409"), (Step(422), "422"), (Step(418), "418"),
  ]

  @Test(
    "A refusal marks nothing and removes nothing, and the error says what came",
    arguments: [ServerType.aware_micro, .aware])
  func refusals(_ type: ServerType) async throws {
    let bench = try SyncBench()
    bench.settings.serverType = type
    (bench.settings.removeAfterSync, bench.settings.removeWithoutProof) = (true, true)
    bench.verifies = false
    try bench.add(10)
    let server = try bench.script(Self.refusals.map(\.0))
    for (number, refusal) in Self.refusals.enumerated() {
      let report = try await bench.sync()
      let error = try #require(report.error, "\(refusal)")
      #expect([.refused, .redirected].contains(error.code) && error.message.contains(refusal.says), "\(error)")
      #expect(error.message.contains("https://localhost:\(server.port) answered \(refusal.0.status)"))
      #expect(report.sent == 0 && !report.isComplete && report.tables[0].removed == 0 && report.pending == 10)
      let state = try bench.state()
      #expect(state.sentThroughId == 0 && state.attempts == number + 1 && state.lastError == error.message)
    }
    #expect(server.requests().count == Self.refusals.count)
    // It was the same batch all the time.
    #expect(Set(server.keys).count == 1 && Set(server.requests().map(\.body)).count == 1)
    #expect(try bench.count(SyncBench.notifications) == 10)
    try bench.verify()
  }

  private static let empty = [200, 201, 202, 204].map { Step($0) }
  private static let unproven = [
    "{}", #"{"status":"ok"}"#, #"{"status":"Success"}"#, #"{"status":200}"#, #"{"status":201}"#, #"{"success":true}"#,
    #"{"inserted":{rows}}"#, #"{"status":"ok","success":true,"inserted":{rows}}"#,
  ].map { Step(200, $0) }
  private static let proven = [
    Step.acknowledge, Step(200, #"{"accepted":0,"duplicates":{rows}}"#), Step(201, #"{"duplicates":0,"accepted":3}"#),
  ]

  @Test(
    "A yes marks the rows; they are removed on proof, or without it where that was allowed",
    arguments: [(false, false), (false, true), (true, false), (true, true)])
  func acknowledgements(_ after: Bool, _ withoutProof: Bool) async throws {
    let bench = try SyncBench()
    (bench.settings.removeAfterSync, bench.settings.removeWithoutProof) = (after, withoutProof)
    bench.verifies = false
    let answers = Self.empty + Self.unproven + Self.proven
    let server = try bench.script(answers)
    var kept = 0
    for (number, answer) in answers.enumerated() {
      try bench.add(3)
      let report = try await bench.sync()
      #expect(report.isComplete && report.sent == 3 && report.pending == 0, "\(answer): \(report)")
      let isProven = number >= answers.count - Self.proven.count
      let isRemoved = after && (isProven || withoutProof)
      kept += isRemoved ? 0 : 3
      #expect(report.tables[0].removed == (isRemoved ? 3 : 0), "\(answer)")
      #expect(try bench.count(SyncBench.notifications) == kept)
      #expect(try bench.state().sentThroughId == Int64(3 * (number + 1)) && bench.state().batch == nil)
    }
    #expect(server.requests().count == answers.count && Set(server.keys).count == answers.count)
    try bench.verify()
  }

  @Test("A server of type aware says yes by an empty answer alone, and that is no proof")
  func aware() async throws {
    let bench = try SyncBench()
    (bench.settings.serverType, bench.settings.removeAfterSync) = (.aware, true)
    try bench.add(3)
    let server = try bench.script(Step(200, #"{"status":"ok"}"#), Step(200, "{}"), Step(200))
    for _ in 0..<2 { #expect(try await bench.sync().error?.code == .refused) }
    let report = try await bench.sync()
    #expect(report.isComplete && report.sent == 3 && report.tables[0].removed == 0)
    #expect(try bench.count(SyncBench.notifications) == 3 && server.requests().count == 3)
  }

  @Test("The last row of a table stays where that was asked for")
  func keepLast() async throws {
    let bench = try SyncBench()
    (bench.settings.removeAfterSync, bench.settings.keepLastData, bench.settings.batchSize) = (true, true, 2)
    try bench.add(5)
    let server = try bench.script(.acknowledge)
    #expect(try await bench.sync().tables[0].removed == 4)
    #expect(try bench.texts("SELECT id FROM ios_notification") == ["5"])
    #expect(try await bench.sync().sent == 0 && server.requests().count == 3)
  }

  @Test("Tables are made first where that was asked for, once a sync; a server that cannot stops only that table")
  func createTables() async throws {
    let bench = try SyncBench()
    (bench.settings.serverType, bench.settings.createsTables, bench.settings.batchSize) = (.aware, true, 2)
    try bench.add(3)
    try bench.addOthers(pushes: 0)
    let place = "/index.php/webservice/index/7/\(SyncBench.studyKey)/"
    let refusal = Step(200, Self.phpError).with {
      $0.match.path = place + "ios_notification/create_table"
    }
    let server = try bench.script([refusal], otherwise: Step(200))
    var report = try await bench.sync()
    #expect(report.tables.map(\.sent) == [0, 1, 0] && report.error?.code == .refused)
    report = try await bench.sync()
    #expect(report.isComplete && report.tables.map(\.sent) == [3, 0, 0])
    #expect(
      server.requests().map { $0.path.dropFirst(place.count) } == [
        "ios_notification/create_table", "ios_notification_token/create_table", "ios_notification_token/insert",
        "ios_notification/create_table", "ios_notification/insert", "ios_notification/insert",
      ])
  }

  @Test("A server that is not the right one ends the whole sync after one attempt")
  func untrusted() async throws {
    let bench = try SyncBench()
    try bench.add(2)
    try bench.addOthers()
    let server = try bench.script(.acknowledge)
    let stranger = try ScriptedServer(SyncBench.endpoint.authority.selfSigned(), .acknowledge)
    func expectRefusal(_ server: ScriptedServer) async throws {
      let connections = server.connections
      let report = try await bench.sync()
      #expect(report.tables.map { $0.error?.code } == [.untrustedServer, .untrustedServer, .untrustedServer])
      #expect(Set(report.tables.map { $0.error?.message }).count == 1 && report.sent == 0 && report.pending == 4)
      #expect(server.connections == connections + 1 && server.requests().isEmpty)
      #expect(try bench.state().sentThroughId == 0 && bench.state(SyncBench.tokens).attempts == 0)
    }
    bench.settings.tls.publicKeyPins = ["sha256//" + String(repeating: "A", count: 43) + "="]
    try await expectRefusal(server)
    bench.settings.tls.publicKeyPins = []
    bench.settings.host = "localhost:\(stranger.port)"
    try await expectRefusal(stranger)
    bench.settings.host = "localhost:\(server.port)"
    #expect(try await bench.sync().sent == 4)
  }
}
