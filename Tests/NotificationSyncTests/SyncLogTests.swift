import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import NotificationSync

// That neither shows a key, content or a path is looked at after every sync of every test (SyncBench).
@Suite("What a sync tells of itself") struct SyncLogTests {
  @Test("The log says what became of each batch, and the ledger why the last one failed")
  func story() async throws {
    let bench = try SyncBench()
    (bench.settings.batchSize, bench.settings.attemptsPerSync) = (4, 1)
    try bench.add(6)
    try bench.execute("UPDATE ios_notification SET title = CAST(x'ff' AS TEXT) WHERE id = 2")
    let server = try bench.script(
      [Step(413), .acknowledge, Step(503, SyncBench.content), Step(503, "", headers: ["Retry-After": "60"])],
      otherwise: .acknowledge)
    let name = "https://localhost:\(server.port)"
    try await bench.sync()
    try await bench.sync(force: true)
    #expect(try bench.state().lastError == "\(name) answered 503 with an empty body: trying again later")
    try await bench.sync()
    try await bench.sync(force: true)
    #expect(
      bench.log.snapshot.map { $0.replacingOccurrences(of: "ios_notification: ", with: "") } == [
        "error: row 2 is set aside: title is not UTF-8",
        "warning: \(name) answered 413 with an empty body: the batch is too large for it; going on with 1 rows",
        "info: 1 rows were taken, 1 to 1",
        "error: \(name) answered 503 with 14 bytes of text: trying again later [serverUnavailable]",
        "verbose: sending rows 3 to 3 again",
        "error: \(name) answered 503 with an empty body: trying again later [serverUnavailable]",
        "info: an earlier failure asks to wait", "verbose: sending rows 3 to 3 again",
        "info: 1 rows were taken, 3 to 3",
        "info: 1 rows were taken, 4 to 4", "info: 1 rows were taken, 5 to 5", "info: 1 rows were taken, 6 to 6",
      ])
  }

  @Test("Settings print no secret, whatever prints them")
  func settings() throws {
    let bench = try SyncBench()
    bench.settings.signingKey = try SigningKey(SyncBench.signingKey, id: "k")
    bench.settings.deviceId = "device-1"
    var dumped = ""
    dump(bench.settings, to: &dumped)
    for text in ["\(bench.settings)", String(reflecting: bench.settings), dumped, bench.settings.destination] {
      #expect(!text.contains("s3cr3t") && !text.isEmpty, "\(text)")
    }
  }

  @Test("Settings that cannot be are told before anything is opened or sent")
  func impossible() async throws {
    let bench = try SyncBench()
    let server = try bench.script(.acknowledge)
    let changes: [(inout SyncSettings) -> Void] = [
      { $0.host = "" }, { $0.host = "ftp://localhost" }, { $0.host = "user:s3cr3t@localhost" }, { $0.batchSize = 0 },
      { $0.batchSize = -1 }, { $0.serverType = .none },
      { settings in (settings.serverType, settings.compactDataFormat) = (.aware, true) },
      { $0.tls.certificateAuthorities = "/none/s3cr3t" }, { $0.tls.publicKeyPins = ["s3cr3t"] },
    ]
    let settings = bench.settings
    for change in changes {
      change(&bench.settings)
      let error = #expect(throws: SyncError.self) { _ = try bench.synchronizer() }
      #expect(error?.code == .invalidSyncSettings && error?.message.contains("s3cr3t@") == false, "\(error as Any)")
      bench.settings = settings
    }
    #expect(server.connections == 0)
  }
}
