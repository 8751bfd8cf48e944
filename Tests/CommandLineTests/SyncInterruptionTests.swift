import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// What a sync leaves that did not come to its end.
@Suite("sync, interrupted or refused") struct SyncInterruptionTests {
  private let upload: UploadingStudy
  private var study: Study { upload.study }

  init() throws { upload = try UploadingStudy() }

  @Test("While something waits the exit status is 1, and status tells why and when to go on") func waits() throws {
    let server = try UploadingStudy.server(.init(503, headers: ["Retry-After": "60"]), .acknowledge)
    let result = try upload.sync(server.port, ["--json"])
    #expect(result.status == 1)
    #expect(result.errors.split(separator: "\n").count == 1 && result.errors.contains("503"))
    let report = try #require(JSON.parse(result.output) as? [String: Any])
    #expect(report["complete"] as? Bool == false)
    let table = (report["tables"] as? [String: [String: Any]])?["ios_notification"]
    #expect(table?["pending"] as? Int == 5 && table?["errorCode"] as? String == "serverUnavailable")

    let uploads = try upload.uploads()
    #expect(uploads["pending"] as? Int == 5 && uploads["inFlight"] as? Int == 5)
    #expect((uploads["lastError"] as? String)?.contains("503") == true)
    #expect(((uploads["notBefore"] as? Int) ?? 0) > Int(Date().timeIntervalSince1970) * 1000)
    let status = try study.run("status").output
    #expect(status.contains("5 not sent (5 of them in a batch that goes out again)"))
    #expect(status.contains("last error: https://localhost:\(server.port) answered 503"))
    #expect(status.contains("next attempt: 20"))

    // By hand it does not wait.
    #expect(try upload.sync(server.port).status == 0)
    #expect(try upload.uploads()["lastError"] == nil)
    let keys = server.requests().map { $0.headers["idempotency-key"] }
    #expect(keys.count == 2 && keys[0] == keys[1])
  }

  @Test("A row that is too large is set aside, shown by status, and sent again after requeue") func requeue() throws {
    let server = try UploadingStudy.server(.init(413), .acknowledge)
    let first = try upload.sync(server.port, ["--batch-size", "1"])
    #expect(first.output.contains("4 sent, 1 set aside, 0 waiting"))
    #expect(try study.run("status").output.contains("0 not sent, 1 set aside (requeue sends them again)"))
    #expect(try upload.uploads()["quarantined"] as? Int == 1)
    #expect(try study.run("list").lines.count == 5)
    #expect(try study.run("requeue").output == "requeued 1 rows\n")
    #expect(try study.run("requeue", "--json").output.filter { $0 != " " } == "{\"requeued\":0}\n")
    // That row alone, not those after it.
    #expect(try upload.sync(server.port).output.contains("1 sent, 0 waiting"))
    #expect(try upload.uploads()["quarantined"] as? Int == 0)
  }

  @Test("An interrupt ends a sync that hangs, and the next one goes on", arguments: [SIGINT, SIGTERM])
  func interrupted(_ signal: Int32) throws {
    let server = try UploadingStudy.server(.hang, .acknowledge)
    let running = try hanging(at: server)
    running.signal(signal)
    let result = running.finish()
    #expect(result.status == 128 + signal)
    #expect(result.output.isEmpty && result.errors.split(separator: "\n").count == 1)
    #expect(result.errors.contains("the next one goes on from there"))
    #expect(study.folder.names.filter { $0.hasPrefix("study.db") } == ["study.db"])
    #expect(try upload.uploads()["inFlight"] as? Int == 5)
    try expectNextGoesOn(server)
  }

  @Test("After a kill the next one waits for the lease, and then goes on") func killed() throws {
    let server = try UploadingStudy.server(.hang, .acknowledge)
    let running = try hanging(at: server)
    running.kill()
    _ = running.finish()
    let early = try upload.sync(server.port)
    #expect(early.status == 1 && early.errors.contains("try again in "))
    #expect(server.requests().count == 1)
    // In place of half a minute.
    let store = try NotificationStore(.init(path: study.database, key: try Keys.raw))
    try store.database.write { try $0.run("UPDATE upload_lease SET expires = 1") }
    try store.close()
    try expectNextGoesOn(server)
  }

  @Test("Neither the process table nor any output shows a secret, nor where it is sent to") func secrets() throws {
    let server = try UploadingStudy.server(.hang, .init(401), .init(200, UploadingStudy.studyKey), .init(302))
    let running = try hanging(at: server, upload.signing())
    var shown = ""
    for name in ["cmdline", "environ"] {
      shown += String(
        decoding: FileManager.default.contents(atPath: "/proc/\(running.identifier)/\(name)") ?? Data(), as: UTF8.self)
    }
    #expect(shown.contains("--study-key-file"))
    running.signal(SIGINT)
    var results = [running.finish()]
    for _ in 0..<3 { results.append(try upload.sync(server.port, upload.signing() + ["--json"])) }
    #expect(results.map(\.status) == [130, 1, 1, 1])
    results.append(try study.run("status"))
    shown += results.map { $0.output + $0.errors }.joined()
    for secret in [UploadingStudy.studyKey, UploadingStudy.signingKey, Keys.rawText] {
      #expect(!shown.contains(secret))
    }
    // The control: it was sent.
    #expect(server.requests().count == 4 && server.requests()[0].path.contains(UploadingStudy.studyKey))
  }

  private func hanging(at server: ScriptedServer, _ more: [String] = []) throws -> Program.Running {
    let running = try study.start("sync", with: try upload.options(server.port) + more)
    for _ in 0..<3000 where server.requests().isEmpty && running.isRunning { usleep(10_000) }
    #expect(server.requests().count == 1)
    return running
  }

  private func expectNextGoesOn(_ server: ScriptedServer) throws {
    #expect(try upload.sync(server.port).status == 0)
    let requests = server.requests()
    #expect(requests.count == 2)
    #expect(requests[0].headers["idempotency-key"] == requests[1].headers["idempotency-key"])
    #expect(requests[0].body == requests[1].body)
    #expect(try upload.uploads()["pending"] as? Int == 0)
  }
}
