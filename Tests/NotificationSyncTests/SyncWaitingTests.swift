import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import NotificationSync

@Suite("Servers that are slow, busy or broken") struct SyncWaitingTests {
  @Test("A server that cannot now is asked a few times, and then only when its time has come, also by the next process")
  func busy() async throws {
    let bench = try SyncBench()
    bench.settings.attemptsPerSync = 3
    try bench.add(2)
    let statuses = [408, 425, 429, 500, 502, 503]
    let server = try bench.script(
      statuses.map { status in
        Step(status, SyncBench.content).with { $0.times = 3 }
      }, otherwise: .acknowledge)
    for (number, status) in statuses.enumerated() {
      if number > 0 {
        // Long enough for all that follows.
        try bench.execute("UPDATE upload_ledger SET notBefore = notBefore + 60000 WHERE notBefore > 0")
        try bench.reopen()
        let waiting = try await bench.sync()
        #expect(
          waiting.tables[0].waitsUntil != nil && waiting.error == nil && !waiting.isComplete && waiting.pending == 2)
        #expect(server.requests().count == 3 * number)
      }
      let began = UnixTime.milliseconds()
      let report = try await bench.sync(force: true)
      #expect(report.error?.code == .serverUnavailable && report.error?.message.contains("\(status)") == true)
      #expect(server.requests().count == 3 * (number + 1) && report.sent == 0)
      let state = try bench.state()
      #expect(state.attempts == 3 * (number + 1))
      #expect(state.notBefore >= began)
    }
    #expect(Set(server.keys).count == 1)
    #expect(try await bench.sync(force: true).sent == 2)
    #expect(try bench.state().attempts == 0 && bench.state().notBefore == 0 && bench.state().lastError == nil)
  }

  @Test("Retry-After is waited for up to six hours, and what makes no sense is not")
  func retryAfter() async throws {
    let bench = try SyncBench()
    bench.settings.backoff = Backoff(first: 0.01, longest: 0.02)
    let now: Int64 = 1_800_000_000_000
    bench.clock.now = { now }
    try bench.add(1)
    // 1,800,000,000 is Fri, 15 Jan 2027 08:00:00 GMT.
    let cases: [(String, requests: Int, seconds: ClosedRange<Double>)] = [
      ("120", 1, 120...120), ("Fri, 15 Jan 2027 08:30:00 GMT", 1, 1800...1800), ("0", 2, 0...0.02),
      ("-5", 2, 0...0.02), ("Fri, 15 Jan 2027 07:30:00 GMT", 2, 0...0.02), ("soon", 2, 0...0.02),
      ("1e5", 2, 0...0.02), ("", 2, 0...0.02), (String(repeating: "9", count: 400), 1, 21_600...21_600),
      ("Fri, 15 Jan 2999 08:30:00 GMT", 1, 21_600...21_600),
    ]
    let server = try bench.script(
      cases.map { asked in
        Step(503, "", headers: ["Retry-After": asked.0]).with { $0.times = asked.requests }
      })
    var requests = 0
    for asked in cases {
      #expect(try await bench.sync(force: true).error?.code == .serverUnavailable)
      requests += asked.requests
      #expect(server.requests().count == requests, "\(asked)")
      let wait = Double(try bench.state().notBefore - now) / 1000
      #expect(asked.seconds.contains(wait), "\(asked): \(wait)")
    }
    // A time further off than any wait was set by a wrong clock.
    bench.clock.now = { now - 86_400_000 }
    #expect(try await bench.sync().tables[0].waitsUntil == nil)
    #expect(server.requests().count > requests)
  }

  @Test("A server that hangs, trickles or resets is left after the attempts of one table")
  func broken() async throws {
    let steps: [(Step, SyncError.Code)] = [
      (.hang, .timedOut),
      (Step(200, String(repeating: " ", count: 100)).with { $0.trickle = 10 }, .timedOut),
      (.close(.beforeReading, reset: true), .connectionFailed), (.close(.afterReading, reset: true), .connectionFailed),
      (.close(.midBody, reset: true), .connectionFailed), (.close(.midBody), .connectionFailed),
    ]
    for (step, code) in steps {
      let bench = try SyncBench()
      bench.timeouts = TransportTimeouts(request: 0.25)
      try bench.add(2)
      try bench.addOthers()
      let server = try bench.script(step.with { $0.times = 2 }, .acknowledge)
      let report = try await bench.sync()
      #expect(report.tables.map { $0.error?.code } == [code, code, code], "\(step)")
      // A kept connection that closed is replaced by the transport, once.
      #expect((2...3).contains(server.requests().count), "\(step)")
      #expect(report.pending == 4 && report.sent == 0)
      #expect(try bench.state().notBefore > 0 && bench.state(SyncBench.tokens) == UploadState())
      #expect(try await bench.sync(force: true).sent == 4)
    }
  }

  @Test("A host without an address is asked for no more often than that")
  func noAddress() async throws {
    let bench = try SyncBench(host: "server.invalid")
    try bench.add(1)
    try bench.addOthers()
    let report = try await bench.sync()
    #expect(report.tables.map { $0.error?.code } == [.connectionFailed, .connectionFailed, .connectionFailed])
    #expect(try bench.state().attempts == 2 && bench.state(SyncBench.pushes).attempts == 0)
  }

  @Test("A table that always fails does not stop the others", arguments: [500, 404, 200])
  func stuckTable(_ status: Int) async throws {
    let bench = try SyncBench()
    try bench.add(3)
    try bench.addOthers(tokens: 2, pushes: 2)
    let failing = Step(status, "no").with {
      $0.match.table = SyncBench.notifications
      $0.times = 1000
    }
    let server = try bench.script([failing], otherwise: .acknowledge)
    for round in 1...3 {
      let report = try await bench.sync(force: true)
      #expect(report.tables.map(\.sent) == [0, 2, 2].map { round == 1 ? $0 : 0 })
      #expect(report.tables.map { $0.error == nil } == [false, true, true] && report.pending == 3)
    }
    #expect(server.requests().count == 2 + 3 * (status == 500 ? 2 : 1))
  }

  // MARK: Batches that are too large

  @Test("A batch that is too large is halved, and what fits is kept to until all is sent")
  func tooLarge() async throws {
    let bench = try SyncBench()
    bench.settings.batchSize = 20
    try bench.add(40, length: 100)
    // Five rows are some 2,400 bytes.
    let receiver = try bench.receiver { $0.maximumBody = 3500 }
    let report = try await bench.sync()
    #expect(report.isComplete && report.sent == 40 && report.setAside == 0)
    let statuses = receiver.log.compactMap { $0["status"] as? Int }
    #expect(statuses == [413, 413] + Array(repeating: 200, count: 8))
    #expect(receiver.rows(in: SyncBench.notifications) == 40 && receiver.batches == 8)
    #expect(try bench.state().rowLimit == nil)
  }

  @Test("The limit outlasts the sync and the process, and ends when all is sent")
  func limitPersists() async throws {
    let bench = try SyncBench()
    (bench.settings.batchSize, bench.settings.attemptsPerSync) = (20, 1)
    try bench.add(30)
    let server = try bench.script([Step(413), Step(413), .acknowledge, Step(500)], otherwise: .acknowledge)
    #expect(try await bench.sync().sent == 5)
    #expect(try bench.state().rowLimit == 5)
    try bench.reopen()
    #expect(try await bench.sync(force: true).sent == 25)
    #expect(server.bodies.map(\.count) == [20, 10, 5, 5, 5, 5, 5, 5, 5])
    #expect(try bench.state().rowLimit == nil)
    try bench.add(30)
    #expect(try await bench.sync().sent == 30)
    #expect(server.bodies.map(\.count).suffix(2) == [20, 10])
  }

  @Test("A server that finds everything too large gets few rows set aside, and none for the making of a table")
  func everythingTooLarge() async throws {
    let bench = try SyncBench()
    try bench.add(40)
    try bench.addOthers(tokens: 0, pushes: 1)
    let server = try bench.script([], otherwise: Step(413))
    let report = try await bench.sync()
    #expect(report.error?.code == .refused && !report.isComplete)
    #expect(report.tables.map(\.setAside) == [3, 0, 1] && report.pending == 37)
    #expect(try bench.store.requeue() == 4)
    (bench.settings.serverType, bench.settings.createsTables) = (.aware, true)
    #expect(try await bench.sync().error?.code == .refused)
    #expect(try bench.setAside().isEmpty && bench.pending() == 40)
    #expect(server.requests().suffix(2).allSatisfy { $0.path.hasSuffix("/create_table") })
  }

  @Test("A row that is too large alone is set aside, the others go on as before, and a later server gets it")
  func oversizeRow() async throws {
    let bench = try SyncBench()
    (bench.settings.batchSize, bench.settings.removeAfterSync) = (16, true)
    try bench.add(10)
    try bench.add(1, length: 9000)
    try bench.add(50)
    let receiver = try bench.receiver { $0.maximumBody = 9000 }
    let report = try await bench.sync()
    #expect(report.sent == 60 && report.tables[0].setAside == 1 && report.pending == 0 && report.isComplete)
    #expect(try bench.setAside().map(\.id) == [11] && bench.texts("SELECT id FROM ios_notification") == ["11"])
    // 16, 8, 4 and 2 rows and the one: halved no more often than that, and back to whole batches afterwards.
    let log = receiver.log.compactMap { $0["status"] as? Int }
    #expect(log.filter { $0 == 413 }.count <= 5 && log.filter { $0 == 200 }.count <= 8, "\(log)")
    // It is not tried again by itself.
    #expect(try await bench.sync().sent == 0 && receiver.log.count == log.count)
    receiver.stop()
    receiver.options.maximumBody = nil
    try receiver.start()
    #expect(try bench.synchronizer().requeue() == 1 && bench.pending() == 1)
    try bench.add(1)
    let last = try await bench.sync()
    #expect(last.sent == 2 && last.isComplete && last.tables[0].removed == 2)
    #expect(receiver.rows(in: SyncBench.notifications) == 62)
    #expect(receiver.distinctRecordIds(in: SyncBench.notifications) == 62)
    #expect(try bench.setAside().isEmpty && bench.count(SyncBench.notifications) == 0)
  }
}

extension SyncReport {
  var setAside: Int { tables.reduce(0) { $0 + $1.setAside } }
}

extension SyncBench {
  /// Closes the store and opens it again, as the next process does.
  func reopen() throws {
    try store.close()
    store = try NotificationStore(store.configuration)
  }
}
