import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// What jobs did, in their order.
private final class Log: @unchecked Sendable {
  private let lock = NSLock()
  private var entries: [String] = []
  func append(_ entry: String) { lock.withLock { entries.append(entry) } }
  var all: [String] { lock.withLock { entries } }
}

@Suite struct ConnectionQueueTests {
  /// Takes minutes, should nobody interrupt it.
  static let endless = """
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000000) SELECT count(*) FROM n
    """
  static let short =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) SELECT count(*) FROM n"

  let queue = ConnectionQueue(label: "test", path: ":memory:") { try Connection.inMemory() }

  /// The synchronous form, which an asynchronous test would not choose by itself.
  private func runOnThisThread<Result>(_ body: (Connection) throws -> Result) throws -> Result { try queue.run(body) }

  /// Keeps the queue at work until `release` is opened.
  private func hold(_ queue: ConnectionQueue, _ release: Gate) async {
    let entered = Gate()
    Thread.detachNewThread {
      try? queue.run { _ in
        entered.open()
        release.pass()
      }
    }
    await entered.pass()
  }

  private func error(_ task: Task<some Sendable, any Error>) async -> DatabaseError.Code? {
    let result = await task.result
    return Keys.error { _ = try result.get() }
  }

  // MARK: Order

  @available(macOS 15, iOS 18, *)
  @Test("Callers are served in the order in which they came, whether they wait on a thread or not")
  func order() async throws {
    let steps = StepByStep()
    let (log, release) = (Log(), Gate())
    await hold(queue, release)
    let tasks = (1...20).map { number in steps.start { try await queue.run { _ in log.append("task \(number)") } } }
    release.open()
    try runOnThisThread { _ in log.append("thread") }
    #expect(log.all == (1...20).map { "task \($0)" } + ["thread"])
    for task in tasks { try await task.value }
    try await queue.run { _ in log.append("last") }
    #expect(log.all.count == 22 && log.all.last == "last")
  }

  @Test("Work from many threads and tasks never overlaps")
  func serial() async throws {
    try runOnThisThread { try $0.execute("CREATE TABLE counter AS SELECT 0 AS n") }
    let increment: @Sendable (Connection) throws -> Void = { connection in
      let before = try connection.integer("SELECT n FROM counter") ?? 0
      try connection.run("UPDATE counter SET n = ?", .integer(before + 1))
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask {
          if number.isMultiple(of: 2) {
            try await queue.run(increment)
          } else {
            try runOnThisThread { try increment($0) }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try runOnThisThread { try $0.integer("SELECT n FROM counter") } == 200)
  }

  @Test("What the work throws or returns comes out as it is")
  func results() async throws {
    struct Own: Error {}
    #expect(throws: Own.self) { try runOnThisThread { _ in throw Own() } }
    await #expect(throws: Own.self) { try await queue.run { _ in throw Own() } }
    #expect(try runOnThisThread { try $0.integer("SELECT 7") } == 7)
    #expect(try await queue.run { try $0.integer("SELECT 7") } == 7)
  }

  @Test("The connection is opened at the first use, once; a failure is tried again at the next use")
  func opening() throws {
    let log = Log()
    let queue = ConnectionQueue(label: "test", path: "x") {
      log.append("open")
      guard log.all.count > 2 else { throw DatabaseError(.busy, "not yet") }
      return try Connection.inMemory()
    }
    #expect(log.all.isEmpty)
    for _ in 1...2 { #expect(Keys.error { try queue.run { _ in } } == .busy) }
    for _ in 1...2 { try queue.run { try $0.execute("CREATE TABLE IF NOT EXISTS t (x)") } }
    #expect(log.all.count == 3)
  }

  // MARK: Cancelling

  @available(macOS 15, iOS 18, *)
  @Test("Cancelling a task interrupts its statement, and the next job is not hit")
  func cancelling() async throws {
    let steps = StepByStep()
    let running = Gate()
    try runOnThisThread {
      try $0.register("tick") { values in
        if case .integer(1000)? = values.first { running.open() }
        return nil
      }
    }
    let cancelled = steps.start {
      try await queue.run { connection in
        try connection.text(Self.endless.replacing("count(*)", with: "count(tick(i))"))
      }
    }
    let next = steps.start { try await queue.run { try $0.integer(Self.short) } }
    await running.pass()
    cancelled.cancel()
    #expect(await error(cancelled) == .cancelled)
    #expect(try await next.value == 20_000)
    #expect(try runOnThisThread { try $0.integer(Self.short) } == 20_000)
  }

  @available(macOS 15, iOS 18, *)
  @Test("A task cancelled between two statements does not begin the second for long")
  func cancelledBetweenStatements() async throws {
    let steps = StepByStep()
    let (entered, goOn) = (Gate(), Gate())
    let task = steps.start {
      try await queue.run { connection in
        entered.open()
        goOn.pass()
        return try connection.integer(Self.endless)
      }
    }
    await entered.pass()
    task.cancel()
    goOn.open()
    #expect(await error(task) == .cancelled)
    #expect(try runOnThisThread { try $0.integer(Self.short) } == 20_000)
  }

  @available(macOS 15, iOS 18, *)
  @Test("A task cancelled while it waits in the queue never begins")
  func cancelledBeforeItBegan() async throws {
    let steps = StepByStep()
    let (log, release) = (Log(), Gate())
    await hold(queue, release)
    let cancelled = steps.start { try await queue.run { _ in log.append("cancelled") } }
    let next = steps.start { try await queue.run { _ in log.append("next") } }
    cancelled.cancel()
    release.open()
    #expect(await error(cancelled) == .cancelled)
    try await next.value
    #expect(log.all == ["next"])
  }

  @available(macOS 15, iOS 18, *)
  @Test("Cancelling a task that has its result does not touch the job that runs now")
  func cancelledAfterItsEnd() async throws {
    let steps = StepByStep()
    let done = steps.start { try await queue.run { try $0.integer("SELECT 1") } }
    #expect(try await done.value == 1)
    let (entered, goOn) = (Gate(), Gate())
    let running = steps.start {
      try await queue.run { connection in
        entered.open()
        goOn.pass()
        return try connection.integer(Self.short)
      }
    }
    await entered.pass()
    done.cancel()
    goOn.open()
    #expect(try await running.value == 20_000)
  }

  @available(macOS 15, iOS 18, *)
  @Test("A late cancel does not keep a transaction open, not even beside a statement in the middle of its rows")
  func cancelledBeforeTheRollback() async throws {
    let steps = StepByStep()
    try runOnThisThread { try $0.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2), (3)") }
    let (entered, goOn) = (Gate(), Gate())
    let task = steps.start {
      try await queue.run { connection in
        try connection.forEachRow("SELECT x FROM t") { _ in
          try connection.writeTransaction {
            try connection.execute("DELETE FROM t")
            entered.open()
            goOn.pass()
            throw DatabaseError(.busy, "of the work itself")
          }
        }
      }
    }
    await entered.pass()
    task.cancel()
    goOn.open()
    #expect(await error(task) == .busy)
    try #require(try runOnThisThread { !$0.isInTransaction })
    let rows = try runOnThisThread { connection in
      try connection.writeTransaction { try connection.integer("SELECT count(*) FROM t") }
    }
    #expect(rows == 3)
  }

  @available(macOS 15, iOS 18, *)
  @Test("A cancel is seen inside and after work that is bounded by itself", arguments: [true, false])
  func cancelledAroundBoundedWork(isInside: Bool) async throws {
    let steps = StepByStep()
    let (entered, goOn) = (Gate(), Gate())
    // Some seconds where nothing ends it, and more than what such a small file may take.
    let long = Self.endless.replacing("1000000000", with: "30000000")
    let task = steps.start {
      try await queue.run { connection in
        if !isInside { try connection.withBoundedWork {} }
        entered.open()
        goOn.pass()
        return isInside ? try connection.withBoundedWork { try connection.integer(long) } : try connection.integer(long)
      }
    }
    await entered.pass()
    task.cancel()
    goOn.open()
    #expect(await error(task) == .cancelled)
    #expect(try runOnThisThread { try $0.integer(Self.short) } == 20_000)
  }

  // MARK: Closing

  @Test func closed() async throws {
    try runOnThisThread { _ in }
    try queue.close()
    try queue.close()
    #expect(Keys.error { try runOnThisThread { _ in } } == .closed)
    #expect(await error(Task { try await queue.run { _ in } }) == .closed)
  }

  @available(macOS 15, iOS 18, *)
  @Test("Work that waits already is done before the queue closes")
  func closingAfterWaitingWork() async throws {
    let steps = StepByStep()
    let (log, release) = (Log(), Gate())
    await hold(queue, release)
    let waiting = steps.start { try await queue.run { _ in log.append("done") } }
    release.open()
    try queue.close()
    #expect(log.all == ["done"])
    try await waiting.value
  }

  // MARK: Mistakes in the program

  @Test("A call from inside the work would wait for itself: it traps, and says so")
  func reentrancy() async throws {
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = ConnectionQueue(label: "test", path: ":memory:") { try Connection.inMemory() }
      try await queue.run { _ in try queue.run { _ in } }
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains("inside the same store's own work"))
  }

  @Test func closingFromInside() async throws {
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = ConnectionQueue(label: "test", path: ":memory:") { try Connection.inMemory() }
      try await queue.run { _ in try queue.close() }
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains("inside the same store's own work"))
  }
}
