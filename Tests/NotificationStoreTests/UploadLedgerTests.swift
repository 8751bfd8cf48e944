import EncryptedSQLite
import TestSupport
import Testing

@testable import NotificationStore

@Suite("The upload ledger") struct UploadLedgerTests {
  private let folder = TemporaryFolder()
  private let store: NotificationStore
  private let table = "ios_silent_push"

  init() throws {
    store = try NotificationStore(.init(path: folder.path("study.db"), key: try Keys.raw))
    try store.silentPushes.insert((1...10).map { SilentPushData(timestamp: $0) })
  }

  private func write<Result>(_ body: (UploadLedger) throws -> Result) throws -> Result {
    try store.database.write { try body(UploadLedger(table, $0)) }
  }

  private func batch(_ rows: ClosedRange<Int64>, count: Int? = nil) -> UploadBatch {
    UploadBatch(
      idempotencyKey: "key", firstId: rows.lowerBound, lastId: rows.upperBound, rowCount: count ?? rows.count,
      digest: [UInt8](repeating: 3, count: 32), envelopeTime: 5, encoderVersion: 1, serverType: "rows",
      destination: "there")
  }

  private var ids: [Int64] { get throws { try store.silentPushes.page(limit: 100).compactMap(\.id) } }

  @Test("keeps a batch as it was until it is acknowledged or given up") func batch() throws {
    try write { ledger in
      #expect(try ledger.state() == UploadState() && ledger.pending() == 10)
      try ledger.begin(batch(1...4))
      #expect(try ledger.state() == UploadState(batch: batch(1...4)))
      try ledger.fail("no", notBefore: 77, now: 7)
      try ledger.fail("no again", notBefore: 78, now: 8)
      let state = try ledger.state()
      #expect(state.batch == batch(1...4) && state.attempts == 2 && state.notBefore == 78)
      #expect(state.lastError == "no again" && state.lastErrorTime == 8 && state.lastSent == nil)
      try ledger.discard()
      #expect(try ledger.state().batch == nil && ledger.pending() == 10)
    }
  }

  @Test("acknowledges: the cursor moves, failures are forgotten, rows go where that was asked for") func acknowledge()
    throws
  {
    try write { ledger in
      try ledger.setRowLimit(3)
      try ledger.begin(batch(1...4))
      try ledger.fail("no", notBefore: 77, now: 7)
      #expect(try ledger.acknowledge(batch(1...4), removing: false, keepingLast: false, now: 9) == 0)
      var state = UploadState(sentThroughId: 4)
      (state.lastSent, state.rowLimit) = (9, 3)
      #expect(try ledger.state() == state && ledger.pending() == 6)
      #expect(try ledger.acknowledge(batch(5...7), removing: true, keepingLast: true, now: 10) == 3)
      #expect(try ledger.acknowledge(batch(8...10), removing: true, keepingLast: true, now: 10) == 2)
    }
    #expect(try ids == [1, 2, 3, 4, 10])
  }

  @Test("never removes a row that was set aside, nor takes it along") func setAside() throws {
    try write { ledger in
      try ledger.quarantine(3, reason: "too large", now: 1)
      try ledger.quarantine(9, reason: "no text", now: 1)
      #expect(try ledger.quarantined().map(\.id) == [3, 9] && ledger.quarantinedCount() == 2 && ledger.pending() == 8)
      #expect(try ledger.acknowledge(batch(1...5, count: 4), removing: true, keepingLast: false, now: 1) == 4)
    }
    #expect(try ids == [3, 6, 7, 8, 9, 10])
  }

  @Test("hands out rows that are asked for again: before the cursor one by one, after it in their turn") func requeue()
    throws
  {
    try write { ledger in
      for id: Int64 in [2, 3, 9] { try ledger.quarantine(id, reason: "too large", now: 1) }
      _ = try ledger.acknowledge(batch(1...5, count: 3), removing: false, keepingLast: false, now: 1)
      #expect(try ledger.nextRequeued() == nil && ledger.pending() == 4)
      #expect(try ledger.requeue() == 3 && ledger.requeue() == 0)
      #expect(try ledger.pending() == 7 && ledger.quarantinedCount() == 0)
      #expect(try ledger.nextRequeued() == 2 && ledger.pending() == 7)
      // Set aside once more it is not asked for.
      try ledger.quarantine(2, reason: "too large", now: 2)
      #expect(try ledger.nextRequeued() == 3)
      try ledger.begin(batch(3...3))
      #expect(try ledger.acknowledge(batch(3...3), removing: true, keepingLast: false, now: 2) == 1)
      #expect(try ledger.nextRequeued() == nil && ledger.state().sentThroughId == 5)
      #expect(try ledger.pending() == 5 && ledger.quarantined().map(\.id) == [2])
    }
    #expect(try ids == [1, 2, 4, 5, 6, 7, 8, 9, 10])
  }

  @Test("leaves a row out of the batch on its way that it was set aside from, whoever asks for it meanwhile")
  func requeueInFlight() throws {
    try write { ledger in
      try ledger.quarantine(3, reason: "too large", now: 1)
      try ledger.begin(batch(1...5, count: 4))
      #expect(try ledger.requeue() == 1 && ledger.nextRequeued() == nil && ledger.pending() == 10)
      #expect(try ledger.acknowledge(batch(1...5, count: 4), removing: true, keepingLast: false, now: 1) == 4)
      #expect(try ledger.nextRequeued() == 3)
    }
    #expect(try ids == [3, 6, 7, 8, 9, 10])
  }

  @Test("forgets rows that are asked for again and are gone") func requeuedAndGone() throws {
    try write { ledger in
      try ledger.quarantine(2, reason: "too large", now: 1)
      _ = try ledger.acknowledge(batch(1...10, count: 9), removing: false, keepingLast: false, now: 1)
      _ = try ledger.requeue()
    }
    try store.database.write { try $0.execute("DELETE FROM ios_silent_push WHERE id = 2") }
    let (next, pending) = try write { (try $0.nextRequeued(), try $0.pending()) }
    #expect(next == nil && pending == 0)
  }

  @Test("starts anew with what was set aside left aside, and what is asked for again in its turn") func startAnew()
    throws
  {
    try write { ledger in
      try ledger.quarantine(3, reason: "too large", now: 1)
      try ledger.quarantine(4, reason: "too large", now: 1)
      _ = try ledger.acknowledge(batch(1...8, count: 6), removing: false, keepingLast: false, now: 9)
      try ledger.begin(batch(9...10))
      try ledger.fail("no", notBefore: 77, now: 7)
      try ledger.setRowLimit(1)
      _ = try ledger.requeue()
      try ledger.quarantine(4, reason: "too large", now: 1)
      try ledger.startAnew()
      var state = UploadState()
      state.lastSent = 9
      #expect(try ledger.state() == state)
      #expect(try ledger.nextRequeued() == nil && ledger.pending() == 9 && ledger.quarantined().map(\.id) == [4])
    }
  }

  @Test("keeps to one table") func otherTables() throws {
    try write { ledger in
      try ledger.begin(batch(1...4))
      try ledger.quarantine(6, reason: "too large", now: 1)
    }
    try store.database.write { connection in
      for other in ["ios_notification", "ios_notification_token"] {
        let ledger = UploadLedger(other, connection)
        #expect(try ledger.state() == UploadState() && ledger.pending() == 0 && ledger.quarantinedCount() == 0)
        try ledger.startAnew()
        _ = try ledger.requeue()
        try ledger.discard()
      }
    }
    let (onItsWay, aside) = try write { (try $0.state().batch, try $0.quarantinedCount()) }
    #expect(onItsWay == batch(1...4) && aside == 1)
  }
}

@Suite("The lease of uploads") struct UploadLeaseTests {
  private let folder = TemporaryFolder()
  private let store: NotificationStore
  private let now: Int64 = 1_800_000_000_000

  init() throws { store = try NotificationStore(.init(path: folder.path("study.db"), key: try Keys.raw)) }

  @Test("is one holder's at a time, until it is given back or runs out") func oneHolder() throws {
    let (first, second) = (UploadLease(holder: "1"), UploadLease(holder: "2"))
    try store.database.write { connection in
      #expect(try first.take(connection, now: now, duration: 1000) == nil && first.isHeld(connection))
      #expect(try second.take(connection, now: now, duration: 1000) == now + 1000 && !second.isHeld(connection))
      #expect(try first.take(connection, now: now + 500, duration: 1000) == nil)
      #expect(try second.take(connection, now: now + 1499, duration: 1000) == now + 1500)
      try second.release(connection)
      #expect(try first.isHeld(connection))
      #expect(try second.take(connection, now: now + 1500, duration: 1000) == nil && !first.isHeld(connection))
      try first.release(connection)
      #expect(try second.isHeld(connection))
      try second.release(connection)
      #expect(try first.take(connection, now: now, duration: 1000) == nil)
    }
  }

  @Test("does not count when a clock that was wrong gave it") func wrongClock() throws {
    let (first, second) = (UploadLease(holder: "1"), UploadLease(holder: "2"))
    let answers = try store.database.write { connection in
      [
        try first.take(connection, now: now + 365 * 86_400_000, duration: 1000),
        try second.take(connection, now: now, duration: 1000), try first.take(connection, now: now, duration: 1000),
      ]
    }
    #expect(answers == [nil, nil, now + 1000])
  }
}
