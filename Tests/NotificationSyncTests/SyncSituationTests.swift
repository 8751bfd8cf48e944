import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import NotificationSync

@Suite("What happens to a store while it is synced, and between syncs") struct SyncSituationTests {
  private static let makesUnreadable = "UPDATE ios_notification SET title = CAST(x'ff' AS TEXT) WHERE id = 5"
  private static let repairs = "UPDATE ios_notification SET title = 'repaired' WHERE id = 5"

  @Test("Rows that come while a batch is on its way are sent by the same sync")
  func rowsMeanwhile() async throws {
    let bench = try SyncBench()
    bench.settings.batchSize = 10
    try bench.add(25)
    let slow = Step.acknowledge.with { $0.delay = 0.15 }
    let server = try bench.script(slow, slow, slow, .acknowledge)
    let synchronizer = try bench.synchronizer()
    let task = Task { await SyncBench.result(synchronizer) }
    for number in 1...3 {
      try await server.waitForRequests(number)
      try bench.add(7)
      try bench.verify()
    }
    let result = await task.value
    try bench.check(result)
    #expect(try result.get().sent == 46 && result.get().isComplete)
    #expect(server.bodies.flatMap { $0 } == Array(0..<46))
  }

  @Test("Rows that come into a table that was done with are sent by the same sync")
  func rowsInAnEarlierTable() async throws {
    let bench = try SyncBench()
    try bench.addOthers(tokens: 0, pushes: 1)
    let slow = Step.acknowledge.with { $0.delay = 0.15 }
    let server = try bench.script(slow, .acknowledge)
    let synchronizer = try bench.synchronizer()
    let task = Task { await SyncBench.result(synchronizer) }
    try await server.waitForRequests(1)
    try bench.add(2)
    let result = await task.value
    try bench.check(result)
    let report = try result.get()
    #expect(report.isComplete && report.tables.map(\.sent) == [2, 0, 1] && report.pending == 0)
    #expect(server.requests().count == 2)
  }

  @Test("Ids as large as there are do no harm")
  func largestIds() async throws {
    let bench = try SyncBench()
    try bench.add(2)
    try bench.addOthers(pushes: 2)
    for table in [SyncBench.notifications, SyncBench.tokens, SyncBench.pushes] {
      try bench.execute("UPDATE \(table) SET id = \(Int64.max) WHERE id = (SELECT max(id) FROM \(table))")
      try bench.execute("UPDATE sqlite_sequence SET seq = \(Int64.max)")
    }
    let server = try bench.script(.acknowledge)
    #expect(try await bench.sync { _ in }.sent == 5)
    #expect(try await bench.sync().sent == 0 && server.requests().count == 3)
  }

  @Test("Rows of one timestamp, more than a batch, are each sent once")
  func oneTimestamp() async throws {
    let bench = try SyncBench()
    bench.settings.batchSize = 100
    try bench.add(250, timestamp: 1)
    let server = try bench.script(.acknowledge)
    let told = Locked<[Double]>([])
    #expect(try await bench.sync(progress: { part in told.withLock { $0.append(part) } }).sent == 250)
    #expect(server.bodies == [Array(0..<100), Array(100..<200), Array(200..<250)])
    #expect(told.snapshot == [0.4, 0.8, 1])
  }

  @Test("A fresh store in the old one's place is uploaded from its first row")
  func freshStore() async throws {
    let bench = try SyncBench()
    let receiver = try bench.receiver()
    try bench.add(10)
    #expect(try await bench.sync().sent == 10)
    try bench.store.close()
    for name in bench.folder.names where name.hasPrefix("study.db") {
      try FileManager.default.removeItem(atPath: bench.folder.path(name))
    }
    bench.store = try NotificationStore(bench.store.configuration)
    try bench.add(4)
    #expect(try await bench.sync().sent == 4)
    #expect(receiver.values(of: "id", in: SyncBench.notifications) == (1...10).map(String.init) + ["1", "2", "3", "4"])
    #expect(receiver.distinctRecordIds(in: SyncBench.notifications) == 14)
  }

  @Test("Sent from the start everything goes out again, and the receiver drops what it has")
  func fromStart() async throws {
    let bench = try SyncBench()
    let receiver = try bench.receiver()
    try bench.add(10)
    try bench.addOthers()
    #expect(try await bench.sync().sent == 12)
    try bench.store.startUploadsAnew()
    #expect(try bench.pending() == 10)
    try bench.verify()
    let report = try await bench.sync()
    #expect(report.sent == 12 && report.tables.map(\.duplicates) == [10, 1, 1])
    #expect(receiver.rows(in: SyncBench.notifications) == 10 && Set(receiver.idempotencyKeys).count == 6)
  }

  @Test("Set back to the start during a request, a sync ends with an error, and the next one sends everything")
  func fromStartMeanwhile() async throws {
    let bench = try SyncBench()
    bench.settings.batchSize = 5
    let server = try bench.script(.acknowledge, .acknowledge.with { $0.delay = 0.2 }, .acknowledge)
    try bench.add(10)
    let synchronizer = try bench.synchronizer()
    let task = Task { await SyncBench.result(synchronizer) }
    try await server.waitForRequests(2)
    try bench.store.startUploadsAnew()
    let result = await task.value
    try bench.check(result)
    guard case .failure(let error as SyncError) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(error.code == .cancelled && error.message.contains("cursor set back"))
    #expect(try await bench.sync().sent == 10)
  }

  @Test("A store gets another key while a batch is on its way, and the sync goes on")
  func rotatedMeanwhile() async throws {
    let bench = try SyncBench()
    bench.settings.batchSize = 4
    try bench.add(10)
    let server = try bench.script(.acknowledge.with { $0.delay = 0.3 }, .acknowledge)
    let synchronizer = try bench.synchronizer()
    let task = Task { await SyncBench.result(synchronizer) }
    try await server.waitForRequests(1)
    _ = try bench.store.rotateEncryptionKey(to: EncryptionKey("x'" + String(repeating: "3", count: 64) + "'"))
    let result = await task.value
    try bench.check(result)
    #expect(try result.get().sent == 10)
    #expect(server.bodies.flatMap { $0 } == Array(0..<10))
  }

  // MARK: Wiping

  @Test("After a wipe nothing of the old rows is sent, and the sync under way ends with an error")
  func wiped() async throws {
    let bench = try SyncBench()
    bench.settings.batchSize = 5
    let server = try bench.script(.acknowledge.with { $0.delay = 0.3 }, .acknowledge)
    try bench.add(20)
    let synchronizer = try bench.synchronizer()
    let task = Task { await SyncBench.result(synchronizer) }
    try await server.waitForRequests(1)
    try bench.store.wipe()
    try bench.add(3)
    try bench.execute("UPDATE ios_notification SET body = '100 new'")
    let result = await task.value
    try bench.check(result)
    guard case .failure(let error as SyncError) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(error.code == .cancelled && error.message.contains("wiped"))
    #expect(server.requests().count == 1)
    #expect(try bench.count(SyncBench.notifications) == 3 && bench.pending() == 3)
    #expect(try await bench.sync().sent == 3)
    #expect(server.bodies == [[0, 1, 2, 3, 4], [100, 100, 100]])
  }

  @Test("After a wipe while a table is being made, or while a sync waits for its next attempt, nothing old is sent")
  func wipedBetween() async throws {
    let bench = try SyncBench()
    (bench.settings.serverType, bench.settings.createsTables) = (.aware, true)
    var server = try bench.script(Step(200).with { $0.delay = 0.3 }, Step(200))
    try bench.add(2)
    var synchronizer = try bench.synchronizer()
    let task = Task { [synchronizer] in await SyncBench.result(synchronizer) }
    try await server.waitForRequests(1)
    try bench.store.wipe()
    let result = await task.value
    try bench.check(result)
    #expect(throws: SyncError.self) { try result.get() }
    #expect(server.requests().count == 1)

    bench.settings.serverType = .aware_micro
    bench.settings.backoff = Backoff(first: 0.5, longest: 0.5)
    server = try bench.script(Step(500), .acknowledge)
    try bench.add(2)
    synchronizer = try bench.synchronizer()
    let second = Task { [synchronizer] in await SyncBench.result(synchronizer) }
    try await server.waitForRequests(1)
    try await SyncBench.wait { try bench.state().attempts > 0 }
    try bench.store.wipe()
    try bench.check(await second.value)
    #expect(server.requests().count == 1)
  }

  // MARK: Rows that were set aside

  @Test("A row that cannot be written is set aside and named, the others go on")
  func unreadable() async throws {
    let bench = try SyncBench()
    bench.settings.batchSize = 4
    bench.settings.removeAfterSync = true
    let receiver = try bench.receiver()
    try bench.add(10)
    try bench.execute(Self.makesUnreadable)
    let report = try await bench.sync()
    #expect(report.isComplete && report.sent == 9 && report.setAside == 1 && report.pending == 0)
    #expect(
      try bench.setAside() == [QuarantinedRow(table: SyncBench.notifications, id: 5, reason: "title is not UTF-8")])
    #expect(try bench.texts("SELECT id FROM ios_notification") == ["5"])
    // Asked for again it is set aside again; repaired it is sent.
    #expect(try bench.store.requeue() == 1)
    try bench.verify()
    #expect(try await bench.sync().setAside == 1)
    try bench.execute(Self.repairs)
    #expect(try bench.store.requeue() == 1)
    #expect(try await bench.sync().sent == 1)
    #expect(receiver.distinctRecordIds(in: SyncBench.notifications) == 10)
    #expect(try bench.count(SyncBench.notifications) == 0 && bench.setAside().isEmpty)
  }

  @Test("A store with nothing but rows that cannot be written is done with them at once")
  func allUnreadable() async throws {
    let bench = try SyncBench()
    bench.settings.batchSize = 3
    let server = try bench.script(.acknowledge)
    try bench.add(8)
    try bench.execute("UPDATE ios_notification SET title = CAST(x'ff' AS TEXT)")
    let report = try await bench.sync()
    #expect(report.setAside == 8 && report.sent == 0 && report.pending == 0 && server.requests().isEmpty)
    try bench.execute("UPDATE ios_notification SET title = 'repaired'")
    #expect(try bench.store.requeue() == 8 && bench.pending() == 8)
    #expect(try await bench.sync().sent == 8)
    #expect(server.bodies.flatMap { $0 } == Array(0..<8))
  }

  @Test("A row that is asked for again while the batch around it is on its way is sent, and not removed unsent")
  func requeuedMeanwhile() async throws {
    let bench = try SyncBench()
    (bench.settings.batchSize, bench.settings.removeAfterSync) = (20, true)
    let receiver = try bench.receiver {
      $0.misbehaviour = [#"{"delay":0.3}"#]
      $0.maximumBody = 12_000
    }
    try bench.add(10)
    try bench.execute(Self.makesUnreadable)
    let synchronizer = try bench.synchronizer()
    let task = Task { await SyncBench.result(synchronizer) }
    try await SyncBench.wait { !receiver.rawRequests.isEmpty }
    #expect(try bench.state().batch?.rowCount == 9)
    try bench.execute(Self.repairs)
    #expect(try bench.store.requeue() == 1)
    try bench.verify()
    let result = await task.value
    try bench.check(result)
    #expect(try result.get().sent == 10 && result.get().tables[0].removed == 10)
    #expect(receiver.distinctRecordIds(in: SyncBench.notifications) == 10)
    #expect(try bench.count(SyncBench.notifications) == 0 && bench.pending() == 0)
  }

  @Test("A row that is asked for again while its batch waits is sent, whether the batch goes out again or anew")
  func requeuedBetween() async throws {
    for changes in [false, true] {
      let bench = try SyncBench()
      (bench.settings.removeAfterSync, bench.settings.attemptsPerSync) = (true, 1)
      let receiver = try bench.receiver { $0.misbehaviour = [#"{"store":true,"close":true}"#] }
      try bench.add(6)
      try bench.execute(Self.makesUnreadable)
      #expect(try await bench.sync().error != nil)
      try bench.execute(Self.repairs)
      #expect(try bench.store.requeue() == 1)
      if changes { try bench.execute("UPDATE ios_notification SET title = 'changed' WHERE id = 2") }
      #expect(try await bench.sync(force: true).isComplete)
      #expect(receiver.distinctRecordIds(in: SyncBench.notifications) == 6)
      #expect(try bench.count(SyncBench.notifications) == 0 && bench.pending() == 0)
    }
  }

  @Test("A row that is asked for again, and then everything: each row is sent")
  func requeuedFromStart() async throws {
    let bench = try SyncBench()
    let server = try bench.script(.acknowledge)
    try bench.add(10)
    try bench.execute(Self.makesUnreadable)
    #expect(try await bench.sync().sent == 9)
    try bench.execute(Self.repairs)
    #expect(try bench.store.requeue() == 1)
    try bench.store.startUploadsAnew()
    #expect(try await bench.sync().sent == 10)
    #expect(server.bodies.dropFirst().flatMap { $0 }.sorted() == Array(0..<10))
    #expect(try bench.pending() == 0)
  }

  @Test("Rows that were set aside outlast the maximum age; those that were sent do not")
  func maximumAge() async throws {
    let bench = try SyncBench { $0.maximumAge = 60 }
    let server = try bench.script([.acknowledge, Step(500)], otherwise: .acknowledge)
    bench.settings.attemptsPerSync = 1
    try bench.add(10, timestamp: 1)
    try bench.execute(Self.makesUnreadable)
    #expect(try await bench.sync().sent == 9)
    try bench.add(3, timestamp: 1)
    #expect(try await bench.sync().error != nil)
    #expect(try bench.store.deleteExpired() == 9)
    #expect(try bench.texts("SELECT id FROM ios_notification ORDER BY id") == ["5", "11", "12", "13"])
    try bench.verify()
    // Asked for again it is not sent yet.
    #expect(try bench.store.requeue() == 1 && bench.store.deleteExpired() == 0)
    try bench.execute(Self.repairs)
    #expect(try await bench.sync(force: true).sent == 4)
    #expect(try bench.store.deleteExpired() == 4 && server.bodies.last == [4])
  }
}
