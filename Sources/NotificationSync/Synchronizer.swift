import EncryptedSQLite
import Foundation
import NotificationStore

/// Sends what a store holds to a server: each row at least once, in the order of their ids, and marked as sent only on an
/// answer that says so. `recordId` and the idempotency key let the receiver make that exactly once.
///
/// Safe to use from any thread. Of the processes that have the store open, one sends at a time.
public final class Synchronizer: Sendable {
  let store: NotificationStore
  let settings: SyncSettings
  let target: UploadTarget
  let transport: any HTTPTransport
  let clock: SyncClock
  let log: SyncLog
  private let syncs = JoinedWork<SyncReport>()

  /// - Throws: `invalidSyncSettings`. Nothing is sent before ``sync(force:progress:)``.
  public convenience init(_ store: NotificationStore, _ settings: SyncSettings) throws {
    try self.init(store, settings, log: SyncLog())
  }

  package convenience init(_ store: NotificationStore, _ settings: SyncSettings, log: SyncLog) throws {
    try self.init(store, settings, transport: SystemTransport(policy: settings.tls), clock: SyncClock(), log: log)
  }

  package init(
    _ store: NotificationStore, _ settings: SyncSettings, transport: any HTTPTransport, clock: SyncClock = SyncClock(),
    log: SyncLog = SyncLog()
  ) throws {
    var settings = settings
    if settings.deviceId.isEmpty { settings.deviceId = store.deviceId }
    self.store = store
    self.settings = settings
    target = try UploadTarget(settings)
    self.transport = transport
    self.clock = clock
    self.log = log
  }

  /// Sends all that waits. A sync that runs already is joined; one that was cancelled is waited for first.
  ///
  /// - Parameters:
  ///   - force: whether to send now, even where an earlier failure asks to wait. It does not interrupt a sync of another
  ///     process.
  ///   - progress: is told how much of what waited at the start is sent, from 0 to 1.
  /// - Returns: what was sent, and for each table what stood in the way.
  /// - Throws: `syncBusy` while another process sends; `cancelled`; what reading and writing the store throws.
  public func sync(
    force: Bool = false, progress: (@Sendable (Double) -> Void)? = nil
  ) async throws -> SyncReport {
    let (task, isOurs) = syncs.run { try await self.run(force, progress) }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      // Who only joined goes alone.
      if isOurs { task.cancel() }
    }
  }

  /// Ends the sync that runs, after which the ledger is right and the next sync goes on from there.
  public func cancel() { syncs.current?.cancel() }

  /// Lets rows that were set aside be sent once more.
  ///
  /// - Returns: how many.
  @discardableResult
  public func requeue() throws -> Int { try store.requeue() }

  // MARK: One sync

  private func run(_ force: Bool, _ progress: (@Sendable (Double) -> Void)?) async throws -> SyncReport {
    let lease = UploadLease(holder: UUID().uuidString)
    let (pending, discarded) = try await begin(lease)
    for what in discarded { log.write(.error, what) }
    let heartbeat = Task { try await keep(lease) }
    do {
      var report = try await send(force, lease, SyncProgress(total: pending, tell: progress))
      report.discarded = discarded
      heartbeat.cancel()
      try? await record { try lease.release($0) }
      return report
    } catch {
      heartbeat.cancel()
      try? await record { try lease.release($0) }
      throw error is CancellationError ? Self.cancelled : error
    }
  }

  private func send(_ force: Bool, _ lease: UploadLease, _ progress: SyncProgress) async throws -> SyncReport {
    var report = SyncReport()
    var isOver: SyncError?
    var syncs = UploadTable.all.map { TableSync(self, $0, lease, progress, isForced: force) }
    var sent: Int
    // Once more where rows came into a table that was done with: who joined since then had them in mind. Not where that
    // led to nothing.
    repeat {
      sent = report.sent
      for index in syncs.indices where syncs[index].mayGoOn {
        if let isOver {
          syncs[index].report.error = isOver
        } else if try await syncs[index].run() == .endSync {
          isOver = syncs[index].report.error
        }
      }
      let tables = syncs.map(\.report.name)
      let pending = try await store.database.read { connection in
        try tables.map { try UploadLedger($0, connection).pending() }
      }
      for (index, count) in pending.enumerated() { syncs[index].report.pending = count }
      report.tables = syncs.map(\.report)
    } while isOver == nil && report.sent > sent && syncs.contains { $0.mayGoOn && $0.report.pending > 0 }
    if isOver == nil { try await sendReceipts(force, lease, &report) }
    if report.isComplete { progress.finish() }
    return report
  }

  /// Those that a service extension could not send. The first failure ends it.
  private func sendReceipts(_ force: Bool, _ lease: UploadLease, _ report: inout SyncReport) async throws {
    guard let sender = try ReceiptSender(settings, transport: transport) else { return }
    while true {
      let now = clock.now()
      let due = try await store.database.read {
        try DeliveryReceiptQueue($0).due(now: force ? nil : now, limit: 100)
      }
      guard !due.isEmpty else { return }
      for (receipt, attempts) in due {
        try Task.checkCancellation()
        do {
          try await sender.send(receipt, now: clock.now())
        } catch let error as SyncError where error.code != .cancelled {
          let delay = settings.backoff.delay(after: attempts + 1, asked: nil, chance: clock.chance())
          let notBefore = clock.now() + Int64(delay * 1000)
          try await record { try DeliveryReceiptQueue($0).postpone(receipt, notBefore: notBefore) }
          log.write(.error, "receipts: \(error)")
          report.receiptError = error
          return
        }
        try await record { try DeliveryReceiptQueue($0).remove(receipt) }
        report.receipts += 1
      }
    }
  }

  // MARK: The lease

  /// - Returns: how many ids wait (no integer, which those of two tables may be too many for), and what the ledger said
  ///   that cannot be.
  private func begin(_ lease: UploadLease) async throws -> (pending: Double, discarded: [String]) {
    let now = clock.now()
    let duration = leaseMilliseconds
    let latest = now + Int64(settings.backoff.longest * 1000)
    return try await record { connection in
      if let expires = try lease.take(connection, now: now, duration: duration) {
        throw SyncError(
          .syncBusy,
          "another process syncs this store now: leave it to that one, or try again in \((expires - now) / 1000 + 1) seconds"
        )
      }
      var discarded = try UploadLedger.discardImpossible(on: connection)
      if try DeliveryReceiptQueue(connection).discardImpossible(latest: latest) {
        discarded.append("delivery receipts hold impossible values")
      }
      let pending = try UploadTable.all.reduce(0) { try $0 + Double(UploadLedger($1.name, connection).pendingIds()) }
      let hint = "it was discarded, for no sync writes that; keep other programs from writing to the upload ledger"
      return (pending, discarded.map { "\($0): \(hint)" })
    }
  }

  private var leaseMilliseconds: Int64 { Int64(settings.leaseDuration * 1000) }

  /// Prolongs the lease for as long as the sync runs, however long a single request takes.
  private func keep(_ lease: UploadLease) async throws {
    while true {
      try await Task.sleep(nanoseconds: UInt64(settings.leaseDuration / 3 * 1e9))
      let (now, duration) = (clock.now(), leaseMilliseconds)
      // Lost, it is not taken again: who holds it now sends, and the next look at the ledger tells us. A store that is
      // busy now may not be so the next time.
      try? await record { if try lease.isHeld($0) { _ = try lease.take($0, now: now, duration: duration) } }
    }
  }

  // MARK: The store

  /// Writes to the ledger, also when the sync is being cancelled: what is known is to be kept.
  func record<Result: Sendable>(_ body: @escaping @Sendable (Connection) throws -> Result) async throws -> Result {
    try await Task { [store] in try await store.database.write(body) }.value
  }

  package static let cancelled = SyncError(.cancelled, "the sync was cancelled; the next one goes on from there")
}

/// The time and the chance that a sync acts on.
package struct SyncClock: Sendable {
  /// Unix milliseconds.
  package var now: @Sendable () -> Int64 = { UnixTime.milliseconds() }
  /// From 0 to 1.
  package var chance: @Sendable () -> Double = { Double.random(in: 0...1) }

  package init() {}
}

/// Takes what a sync tells of itself: no key, no content, no path.
package struct SyncLog: Sendable {
  /// As of a log: the higher, the more.
  package enum Level: Int, Sendable {
    case error = 1
    case warning = 2
    case info = 3
    case verbose = 4
  }

  package var write: @Sendable (Level, String) -> Void = { _, _ in }

  package init(write: @escaping @Sendable (Level, String) -> Void = { _, _ in }) { self.write = write }
}

/// Tells how far a sync is, by ids, for which no row need be counted.
final class SyncProgress: Sendable {
  private let total: Double
  private let sent = Locked(0.0)
  private let tell: (@Sendable (Double) -> Void)?

  init(total: Double, tell: (@Sendable (Double) -> Void)?) {
    self.total = total
    self.tell = tell
  }

  /// - Parameter ids: from the first row of a batch to its last.
  func add(_ ids: ClosedRange<Int64>) {
    guard let tell else { return }
    let sum = sent.withLock { sum in
      sum += Double(ids.upperBound) - Double(ids.lowerBound) + 1
      return sum
    }
    // Rows that came meanwhile are sent as well. The end is told once, when it is the end.
    if sum < total { tell(sum / total) }
  }

  func finish() { tell?(1) }
}
