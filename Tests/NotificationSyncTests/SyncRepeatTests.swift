import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import NotificationSync

@Suite("Lost answers and sends that were cut off") struct SyncRepeatTests {
  @Test(
    "A batch whose answer was lost goes out again byte for byte under its own key",
    arguments: [ServerType.aware_micro, .aware_light, .aware],
    [Step.Close.afterReading, .midHead, .afterHead, .midBody])
  func sameBytes(_ type: ServerType, _ close: Step.Close) async throws {
    let bench = try SyncBench()
    (bench.settings.serverType, bench.settings.attemptsPerSync) = (type, 1)
    bench.settings.signingKey = try SigningKey(SyncBench.signingKey, id: "k")
    try bench.add(5)
    let server = try bench.script(
      [.close(close)], otherwise: type == .aware ? Step(200) : .acknowledge)
    #expect(try await bench.sync().error?.code == .connectionFailed)
    let batch = try #require(try bench.state().batch)
    #expect(try await bench.sync(force: true).sent == 5)
    let requests = server.requests()
    try #require(requests.count == 2)
    #expect(requests[0].body == requests[1].body && requests[0].path == requests[1].path)
    for name in ["idempotency-key", "content-digest", "content-type"] {
      #expect(requests[0].headers[name] == requests[1].headers[name])
    }
    #expect(requests[0].headers["idempotency-key"] == "\"\(batch.idempotencyKey)\"")
    #expect(try bench.state().batch == nil)
  }

  @Test("The receiver stores a batch once, whose answers were lost in every way")
  func storedOnce() async throws {
    let bench = try SyncBench()
    (bench.settings.batchSize, bench.settings.removeAfterSync, bench.settings.attemptsPerSync) = (10, true, 1)
    let receiver = try bench.receiver {
      $0.misbehaviour = [
        #"{"store":true,"close":true}"#, #"{"store":true,"reset":"mid-body"}"#, #"{"close":true}"#,
        #"{"store":true,"status":502,"body":"bad gateway"}"#, #"{"store":true,"status":200,"body":"<html>"}"#,
      ]
    }
    try bench.add(25)
    for _ in 0..<5 {
      #expect(try await bench.sync(force: true).error != nil)
      #expect(try bench.count(SyncBench.notifications) == 25)
    }
    let report = try await bench.sync(force: true)
    #expect(report.isComplete && report.sent == 25 && report.tables[0].removed == 25)
    #expect(receiver.rows(in: SyncBench.notifications) == 25)
    #expect(receiver.distinctRecordIds(in: SyncBench.notifications) == 25)
    #expect(receiver.batches == 3 && Set(receiver.rawRequests.prefix(6).map(\.body)).count == 1)
  }

  @Test("A process killed between the answer and its mark has lost and doubled nothing")
  func killedBeforeMark() async throws {
    let bench = try SyncBench()
    let receiver = try bench.receiver()
    try bench.add(25)
    let arguments = bench.helperArguments("batch=10", "lease=0.2")
    for number in [1, 2, 1] {
      let killed = try Program.run(Program.helper, arguments + ["kill-after=\(number)"])
      #expect(killed.status == SIGKILL)
      #expect(try bench.state().batch?.rowCount ?? 0 > 0)
      try bench.verify()
      usleep(250_000)
    }
    #expect(try Program.run(Program.helper, arguments).lines.last == "ok")
    // Answered were 10 rows; those again and 10; those again.
    #expect(receiver.batches == 3 && receiver.log.count == 4 + 2)
    #expect(
      receiver.rows(in: SyncBench.notifications) == 25 && receiver.distinctRecordIds(in: SyncBench.notifications) == 25)
    #expect(try bench.pending() == 0 && bench.count(SyncBench.notifications) == 25)
  }

  @Test("A batch whose rows changed between two attempts is planned anew, and the receiver drops the repeats")
  func changedRow() async throws {
    let bench = try SyncBench()
    bench.settings.attemptsPerSync = 1
    let receiver = try bench.receiver { $0.misbehaviour = [#"{"store":true,"close":true}"#] }
    try bench.add(10)
    #expect(try await bench.sync().error != nil)
    try bench.execute("UPDATE ios_notification SET title = 'changed' WHERE id = 4")
    let report = try await bench.sync(force: true)
    #expect(report.isComplete && report.sent == 10 && report.tables[0].duplicates == 10)
    #expect(receiver.rows(in: SyncBench.notifications) == 10 && Set(receiver.idempotencyKeys).count == 2)
  }

  @Test("Another key of the store changes nothing about the batch on its way")
  func rotated() async throws {
    let bench = try SyncBench()
    bench.settings.attemptsPerSync = 1
    let receiver = try bench.receiver { $0.misbehaviour = [#"{"store":true,"close":true}"#] }
    try bench.add(10)
    #expect(try await bench.sync().error != nil)
    _ = try bench.store.rotateEncryptionKey(to: EncryptionKey("x'" + String(repeating: "3", count: 64) + "'"))
    #expect(try await bench.sync(force: true).sent == 10)
    #expect(receiver.rows(in: SyncBench.notifications) == 10 && receiver.idempotencyKeys.count == 1)
  }

  @Test("Another host gets what the first has not acknowledged, and the first loses nothing that it has")
  func otherHost() async throws {
    let bench = try SyncBench()
    (bench.settings.batchSize, bench.settings.attemptsPerSync) = (4, 1)
    let first = try bench.receiver {
      $0.misbehaviour = [#"{"delay":0}"#, #"{"store":true,"status":502}"#]
    }
    try bench.add(10)
    #expect(try await bench.sync().sent == 4)
    let second = try bench.receiver()
    #expect(try await bench.sync(force: true).sent == 6)
    #expect(first.rows(in: SyncBench.notifications) == 8 && second.rows(in: SyncBench.notifications) == 6)
    let all = Set(first.values(of: "recordId", in: SyncBench.notifications))
      .union(second.values(of: "recordId", in: SyncBench.notifications))
    #expect(all.count == 10)
  }

  @Test("A sync that is cancelled during a request goes on with the same batch")
  func cancelled() async throws {
    let bench = try SyncBench()
    bench.settings.batchSize = 4
    try bench.add(10)
    let server = try bench.script([.acknowledge, .hang], otherwise: .acknowledge)
    let synchronizer = try bench.synchronizer()
    let task = Task { await SyncBench.result(synchronizer) }
    try await server.waitForRequests(2)
    synchronizer.cancel()
    let result = await task.value
    try bench.check(result)
    #expect(throws: SyncError.self) { try result.get() }
    if case .failure(let error as SyncError) = result { #expect(error.code == .cancelled) }
    #expect(try bench.state().sentThroughId == 4 && bench.state().batch?.firstId == 5 && bench.pending() == 6)
    #expect(try await bench.sync().isComplete)
    #expect(server.keys[1] == server.keys[2] && Set(server.keys).count == 3)
    #expect(server.bodies.flatMap { $0 }.sorted() == [0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 9])
  }

  @Test("Cancelling the caller's task at any moment leaves the ledger right")
  func cancelledAnywhere() async throws {
    let bench = try SyncBench()
    bench.settings.batchSize = 5
    let receiver = try bench.receiver()
    var random = SeededGenerator(seed: 7)
    var total = 0
    for _ in 0..<Campaign.count(12) {
      try bench.add(20)
      total += 20
      let synchronizer = try bench.synchronizer()
      let task = Task { try await synchronizer.sync() }
      try await Task.sleep(nanoseconds: .random(in: 0...40_000_000, using: &random))
      task.cancel()
      try bench.check(await task.result)
    }
    #expect(try await bench.sync().isComplete)
    #expect(receiver.rows(in: SyncBench.notifications) == total)
    #expect(receiver.distinctRecordIds(in: SyncBench.notifications) == total)
  }
}

extension SyncBench {
  /// The arguments of `store-helper sync` for this store and server.
  func helperArguments(_ options: String...) -> [String] {
    [
      "sync", path, folder.write("key", Keys.rawText + "\n"), settings.host,
      Self.endpoint.authority.certificate, Self.studyKey,
    ] + options
  }
}
