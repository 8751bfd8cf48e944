import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import NotificationSync

@Suite("Several who sync one store") struct SyncProcessTests {
  @Test("Who syncs in the same process joins, and gets the same report")
  func joined() async throws {
    let bench = try SyncBench()
    bench.settings.batchSize = 5
    try bench.add(10)
    let server = try bench.script(.acknowledge.with { $0.delay = 0.2 }, .acknowledge)
    let synchronizer = try bench.synchronizer()
    let first = Task { try await synchronizer.sync() }
    try await server.waitForRequests(1)
    let others = (0..<3).map { _ in Task { try await synchronizer.sync() } }
    // One that goes away leaves the others alone.
    others[0].cancel()
    let report = try await first.value
    #expect(report.sent == 10 && report.isComplete)
    for other in others.dropFirst() { #expect(try await other.value.sent == 10) }
    #expect(server.requests().count == 2)
    try bench.check(.success(report))
  }

  @Test("Who syncs after cancelling does not get the cancelled one's error")
  func afterCancelling() async throws {
    let bench = try SyncBench()
    try bench.add(10)
    let server = try bench.script(.hang, .acknowledge)
    let synchronizer = try bench.synchronizer()
    let first = Task { await SyncBench.result(synchronizer) }
    try await server.waitForRequests(1)
    synchronizer.cancel()
    let second = Task { await SyncBench.result(synchronizer) }
    let third = Task { await SyncBench.result(synchronizer) }
    for result in [await second.value, await third.value] {
      try bench.check(result)
      #expect(try result.get().sent == 10)
    }
    guard case .failure(let error as SyncError) = await first.value else {
      Issue.record("it was not cancelled")
      return
    }
    #expect(error.code == .cancelled && server.requests().count == 2)
    // Nothing is left to join.
    #expect(try await synchronizer.sync().sent == 0)
  }

  @Test("Of two processes told to sync at once one does, and the other leaves")
  func atOnce() async throws {
    let bench = try SyncBench()
    try bench.add(20)
    let server = try bench.script(.acknowledge.with { $0.delay = 0.3 }, .acknowledge)
    let arguments = bench.helperArguments("batch=10")
    let processes = try (0..<3).map { _ in try Program.start(Program.helper, arguments) }
    let results = processes.map { $0.finish() }
    #expect(results.filter { $0.lines.last == "ok" }.count >= 1)
    #expect(results.allSatisfy { [["ok"], ["syncBusy"]].contains($0.lines.suffix(1)) }, "\(results)")
    #expect(server.bodies == [Array(0..<10), Array(10..<20)])
    #expect(try bench.pending() == 0)
    try bench.verify()
  }

  @Test("Who syncs while another process does is told so, and goes on once that was killed and its lease ran out")
  func killedHolder() async throws {
    let bench = try SyncBench()
    bench.settings.attemptsPerSync = 1
    try bench.add(5)
    let server = try bench.script(.hang, .acknowledge)
    let holder = try Program.start(Program.helper, bench.helperArguments("lease=0.6"))
    try await server.waitForRequests(1)
    let busy = try await bench.error(force: true)
    #expect(busy?.code == .syncBusy && busy?.message.contains("try again in 1 seconds") == true, "\(busy as Any)")
    holder.kill()
    _ = holder.finish()
    var report: SyncReport?
    for _ in 0..<300 {
      do {
        report = try await bench.synchronizer().sync(force: true)
        break
      } catch let error as SyncError where error.code == .syncBusy {
        try await Task.sleep(nanoseconds: 20_000_000)
      }
    }
    #expect(report?.sent == 5 && report?.isComplete == true)
    // Under the key of the one that was killed.
    #expect(server.keys.count == 2 && server.keys[0] == server.keys[1])
    try bench.verify()
  }

  @Test("A request that takes longer than the lease keeps it")
  func heartbeat() async throws {
    let bench = try SyncBench()
    bench.settings.leaseDuration = 0.3
    try bench.add(5)
    let server = try bench.script(.acknowledge.with { $0.delay = 1.2 }, .acknowledge)
    let synchronizer = try bench.synchronizer()
    let task = Task { try await synchronizer.sync() }
    try await server.waitForRequests(1)
    let other = try bench.synchronizer()
    var refusals = 0
    try await SyncBench.wait {
      if case .failure(let error as SyncError) = await SyncBench.result(other), error.code == .syncBusy {
        refusals += 1
      }
      return try bench.state().batch == nil
    }
    #expect(try await task.value.sent == 5 && refusals > 10)
    #expect(server.requests().count == 1)
  }

  @Test("A lease that a wrong clock gave is in nobody's way, and one that was lost ends its holder's sync")
  func wrongClock() async throws {
    let bench = try SyncBench()
    try bench.add(5)
    let server = try bench.script(.acknowledge.with { $0.delay = 0.3 }, .acknowledge)
    bench.clock.now = { UnixTime.milliseconds() + 365 * 86_400_000 }
    let early = try bench.synchronizer()
    let task = Task { await SyncBench.result(early) }
    try await server.waitForRequests(1)
    bench.clock = SyncClock()
    #expect(try await bench.sync().sent == 5)
    guard case .failure(let error as SyncError) = await task.value else {
      Issue.record("the one whose lease was lost went on")
      return
    }
    #expect(error.code == .syncBusy && error.message.contains("took the sync over"))
    #expect(server.keys.count == 2 && server.keys[0] == server.keys[1])
    try bench.verify()
  }

  @Test("A store that is closed ends a sync by a clear error, and the next one goes on")
  func closed() async throws {
    let bench = try SyncBench()
    bench.settings.batchSize = 2
    try bench.add(6)
    let server = try bench.script(.acknowledge.with { $0.delay = 0.2 }, .acknowledge)
    let synchronizer = try bench.synchronizer()
    let task = Task { await SyncBench.result(synchronizer) }
    try await server.waitForRequests(1)
    try bench.store.close()
    guard case .failure(let error as SyncError) = await task.value else {
      Issue.record("a closed store was synced")
      return
    }
    #expect(error.code == .closed)
    bench.store = try NotificationStore(bench.store.configuration)
    // Its lease stays until it runs out.
    try bench.execute("DELETE FROM upload_lease")
    #expect(try await bench.sync().sent == 6)
    #expect(server.keys[0] == server.keys[1])
  }

  @Test(
    "Memory does not grow with what waits. FULL_SCALE=1 sends a million rows",
    .enabled(if: !Campaign.isSanitized, "sanitizers have memory of their own"))
  func flatMemory() async throws {
    let rows = ProcessInfo.processInfo.environment["FULL_SCALE"] != nil ? 1_000_000 : 20_000
    func growth(_ count: Int) throws -> Int {
      let bench = try SyncBench()
      for start in stride(from: 0, to: count, by: 5000) { try bench.add(min(5000, count - start), length: 500) }
      let server = try bench.script([.acknowledge], recordsBodies: false)
      try bench.store.close()
      let result = try Program.run(Program.helper, bench.helperArguments())
      #expect(result.lines.last == "ok" && server.connections == 1)
      return try #require(result.lines.first { $0.hasPrefix("grew ") }.flatMap { Int($0.dropFirst(5)) })
    }
    let (few, many) = try (growth(2000), growth(rows))
    // A batch is some 650 KB, 20,000 rows are 13 MB, a million are 650 MB. The allocator alone differs by 5 MB from run to run.
    let limit = rows > 20_000 ? 50 << 10 : 9 << 10
    #expect(many - few < limit, "\(rows) rows took \(many) KiB, 2000 took \(few)")
    #expect(many < 60 << 10)
  }
}
