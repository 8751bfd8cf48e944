import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// The clock and the work of a store's expiry, both moved on by the test.
private final class ManualSchedule: Sendable {
  private struct State: Sendable {
    var now: Int64 = 1_764_460_861_000
    var work: [(run: @Sendable () -> Void, delay: TimeInterval)] = []
    var results: [Result<Int, DatabaseError>] = []
  }
  private let state = Locked(State())

  var now: Int64 { state.now }
  var results: [Result<Int, DatabaseError>] { state.results }
  /// The delay of the work that waits; nil where none does.
  var delay: TimeInterval? { state.snapshot.work.first?.delay }

  func advance(hours: Double) { state.withLock { $0.now += Int64(hours * 3_600_000) } }

  func install(_ configuration: inout NotificationStore.Configuration) {
    let state = state
    configuration.expirySchedule = Expiry.Schedule(now: { state.now }) { work, delay in
      state.withLock { $0.work.append((work, delay)) }
    }
    configuration.reportExpiry = { result in state.withLock { $0.results.append(result) } }
  }

  /// Does the work that waits, of which there is one at a time.
  func step() throws {
    let work = state.withLock { $0.work.isEmpty ? nil : $0.work.removeFirst().run }
    let run = try #require(work)
    run()
    #expect(state.snapshot.work.count <= 1)
  }

  /// Does what is due now, and not what waits for an hour.
  func finish() throws { while delay == 0 { try step() } }
}

@Suite struct ExpiryTests {
  let folder = TemporaryFolder()
  private let schedule = ManualSchedule()
  var path: String { folder.path("store") }

  private func open(
    at path: String? = nil, _ change: (inout NotificationStore.Configuration) -> Void = { _ in }
  ) throws -> NotificationStore {
    var configuration = NotificationStore.Configuration(path: path ?? self.path, key: try Keys.raw)
    configuration.maximumAge = 86_400
    schedule.install(&configuration)
    change(&configuration)
    return try NotificationStore(configuration)
  }

  /// Makes a store whose rows were all sent.
  private func make(at path: String? = nil, old: Int, new: Int = 0) throws {
    let store = try open(at: path) { $0.maximumAge = nil }
    let rows = (0..<old + new).map { number in
      var data = NotificationData(timestamp: schedule.now - (number < old ? 2 : 0) * 86_400_000)
      data.body = "\(number)"
      return data
    }
    try store.notifications.insert(rows)
    try store.database.write { try $0.execute("UPDATE upload_ledger SET sentThroughId = \(old + new)") }
    try store.close()
  }

  private func errors() -> [DatabaseError.Code] {
    schedule.results.compactMap { if case .failure(let error) = $0 { error.code } else { nil } }
  }

  @Test("Old rows go after the opening, a thousand a turn, and then an hour passes")
  func turns() throws {
    try make(old: 2500, new: 10)
    let store = try open()
    #expect(try store.notifications.count() == 2510 && schedule.delay == 0)
    // The first looks whether an hour has passed.
    try schedule.step()
    for left in [1510, 510, 10] {
      #expect(schedule.delay == 0)
      try schedule.step()
      #expect(try store.notifications.count() == left)
    }
    try schedule.finish()
    #expect(schedule.delay == 3600)
    #expect(try schedule.results.map { try $0.get() } == [2500])
    #expect(try store.notifications.page(limit: 100).map(\.body) == (2500..<2510).map(String.init))
    // An app that runs for days.
    schedule.advance(hours: 25)
    try schedule.step()
    try schedule.finish()
    #expect(try store.notifications.count() == 0 && schedule.delay == 3600)
  }

  @Test("What the last turn deletes is counted, and a cursor that cannot be deletes nothing")
  func lastTable() throws {
    var store = try open { $0.maximumAge = nil }
    let old = schedule.now - 2 * 86_400_000
    try store.silentPushes.insert((0..<3).map { _ in SilentPushData(timestamp: old) })
    try store.tokens.insert([NotificationTokenData(timestamp: old)])
    try store.database.write {
      try $0.execute("UPDATE upload_ledger SET sentThroughId = 3")
    }
    try store.close()
    store = try open()
    try schedule.finish()
    #expect(try schedule.results.map { try $0.get() } == [3])
    #expect(try store.tokens.count() == 1 && store.silentPushes.count() == 0)
  }

  @Test(
    "It is done once an hour, however often the store is opened, and whatever the clock does",
    arguments: [
      (0.99, false), (1.01, true), (-0.01, true), (-5000, true),
    ])
  func onceAnHour(hours: Double, isDue: Bool) throws {
    try make(old: 1)
    let first = try open()
    try schedule.step()
    try schedule.finish()
    try first.close()
    try schedule.step()
    #expect(schedule.delay == nil && schedule.results.count == 1)
    schedule.advance(hours: hours)
    let second = try open()
    try schedule.step()
    #expect(schedule.delay == (isDue ? 0 : 3600))
    try schedule.finish()
    #expect(schedule.results.count == (isDue ? 2 : 1))
    try second.close()
  }

  @Test("Rows behind a thousand that are kept are found, as after a clock that was wrong")
  func outOfOrder() throws {
    let store = try open { $0.maximumAge = nil }
    try store.notifications.insert(
      (0..<2100).map { NotificationData(timestamp: $0 < 2000 ? Int64.max : 0) })
    try store.database.write { try $0.execute("UPDATE upload_ledger SET sentThroughId = 2099") }
    try store.close()
    let again = try open()
    try schedule.finish()
    #expect(try again.notifications.count() == 2001)
  }

  @Test("Exactly at the maximum age a row is kept")
  func boundary() throws {
    let store = try open { $0.maximumAge = nil }
    try store.notifications.insert([1, 0, -1].map { NotificationData(timestamp: schedule.now - 86_400_000 + $0) })
    try store.database.write { try $0.execute("UPDATE upload_ledger SET sentThroughId = 3") }
    try store.close()
    let again = try open()
    try schedule.finish()
    #expect(try again.notifications.page(limit: 3).map(\.id) == [1, 2])
  }

  @Test("A row that is to be sent once more, after a turn has found it, is kept")
  func requeuedBetween() throws {
    try make(old: 1)
    let store = try open()
    let deleted = try [0, 1].map { sentThroughId in
      try store.database.withWriter { connection in
        try connection.execute("UPDATE upload_ledger SET sentThroughId = \(sentThroughId)")
        try connection.run(Expiry.deletion("ios_notification", false), .integer(1), .integer(schedule.now))
        return connection.changes
      }
    }
    #expect(deleted == [0, 1])
  }

  // MARK: What stands in the way

  @available(macOS 15, iOS 18, *)
  @Test("Other work of the store is done between two turns", .timeLimit(.minutes(1)))
  func yields() async throws {
    try make(old: 3000)
    let release = Gate()
    let entered = Gate()
    let store = try open {
      $0.expirySchedule = Expiry.Schedule(now: { [now = schedule.now] in now })
    }
    Thread.detachNewThread {
      try? store.database.withWriter { _ in
        entered.open()
        release.pass()
      }
    }
    await entered.pass()
    let steps = StepByStep()
    let counts = (0..<3).map { _ in
      steps.start { try await store.database.write { try $0.integer("SELECT count(*) FROM ios_notification") ?? 0 } }
    }
    let before = try await store.database.read { try $0.integer("SELECT count(*) FROM ios_notification") ?? 0 }
    release.open()
    // One turn at most may have been in the queue before them, and none gets between them.
    for count in counts { #expect(try await count.value >= before - 1000) }
    try store.close()
  }

  @Test("It ends with the store", arguments: [true, false])
  func closedMeanwhile(isClosed: Bool) throws {
    try make(old: 2500)
    var store: NotificationStore? = try open()
    try schedule.step()
    try schedule.step()
    if isClosed { try store?.close() }
    store = nil
    try schedule.finish()
    #expect(schedule.delay == nil && schedule.results.isEmpty)
    #expect(try open { $0.maximumAge = nil }.notifications.count() == 1500)
  }

  @Test("A store that another connection writes to opens, and the next hour's run finds it free")
  func busyStore() throws {
    try make(old: 5)
    let other = try Connection.open(path, key: Keys.raw)
    try other.execute("BEGIN IMMEDIATE")
    let store = try open()
    try store.database.withWriter { try $0.execute("PRAGMA busy_timeout = 0") }
    try schedule.finish()
    #expect(errors() == [.busy] && schedule.delay == 3600)
    #expect(try store.notifications.count() == 5)
    try other.execute("COMMIT")
    try schedule.step()
    try schedule.finish()
    #expect(try store.notifications.count() == 0 && schedule.results.count == 2)
    try other.close()
  }

  @Test("A full disk keeps no store shut", .enabled(if: SmallDisk.isAvailable))
  func fullDisk() throws {
    let disk = try SmallDisk(size: "4m")
    let path = disk.path("store")
    try make(at: path, old: 1000)
    // Holds what SQLite needs beside the file to open it.
    let other = try open(at: path) { $0.maximumAge = nil }
    try other.database.withWriter { try $0.foldLogIn() }
    let descriptor = Foundation.open(disk.path("filler"), O_WRONLY | O_CREAT, 0o600)
    let block = [UInt8](repeating: 1, count: 4096)
    while write(descriptor, block, block.count) > 0 {}
    Foundation.close(descriptor)
    let store = try open(at: path)
    try schedule.finish()
    #expect(errors() == [.diskFull] && schedule.delay == 3600)
    #expect(try store.notifications.count() == 1000)
    #expect(unlink(disk.path("filler")) == 0)
    try schedule.step()
    try schedule.finish()
    #expect(try store.notifications.count() == 0 && errors() == [.diskFull])
    try store.close()
    try other.close()
  }

  // MARK: Its cost

  @Test("No turn goes through the rows: each is found by its id", arguments: [true, false])
  func queryPlan(deletesUnsentRows: Bool) throws {
    let store = try open()
    for table in NotificationStore.tables {
      for sql in [Expiry.query(table, deletesUnsentRows), Expiry.deletion(table, deletesUnsentRows)] {
        var plan: [String] = []
        try store.database.read { connection in
          try connection.forEachRow("EXPLAIN QUERY PLAN " + sql) { plan.append($0.string(at: 3)) }
        }
        let own = plan.filter { $0.contains("\(table) ") }
        #expect(own.count == 1 && own[0].contains("USING INTEGER PRIMARY KEY"), "\(plan)")
        #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
      }
    }
  }
}
