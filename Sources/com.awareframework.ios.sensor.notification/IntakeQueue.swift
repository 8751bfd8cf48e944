import EncryptedSQLite
import Foundation
import NotificationStore

/// Stores what the sensor receives, in order, off the caller's thread.
///
/// The store is opened when it is first needed. What arrives while a commit runs goes into the next one together. While
/// the store cannot be used, records wait here, up to a bound, for the next chance.
///
/// - Note: `@unchecked Sendable`: all but `jobs`, which is guarded, is touched on `queue` only.
final class IntakeQueue: @unchecked Sendable {
  enum Item: Sendable {
    case push(PushRecords)
    case token(NotificationTokenData)
  }

  enum Outcome: Sendable {
    /// The item now is what the store has: its rows.
    case stored(Item)
    /// By choice nothing is stored.
    case notKept(Item)
    case failed(Item, DatabaseError)
  }

  /// Opens the store that is configured now; nil when nothing is to be stored.
  typealias Opening = @Sendable () throws -> NotificationStore?
  /// Keeps the first of the pushes next to the store that cannot be used now, as many as can be; returns how many are durable,
  /// and throws where none is.
  typealias Spooling = @Sendable ([[SpoolEntry]]) throws -> Int
  /// Calls `retry` after a delay in seconds.
  typealias Scheduling = @Sendable (_ delay: TimeInterval, _ retry: @escaping @Sendable () -> Void) -> Void

  struct Arrival {
    let item: Item
    /// Called once, on the intake's queue.
    let finish: @Sendable (Outcome) -> Void
  }

  private enum Job {
    case store(Arrival)
    case work(@Sendable () -> Void)
  }

  private let queue = DispatchQueue(label: "NotificationSensor.intake")
  /// What was asked for, in order. Arrivals that stand together are stored together.
  private let jobs = Locked<[Job]>([])
  private let open: Opening
  private let spool: Spooling
  private let schedule: Scheduling
  /// Is told of each failure, once for all the records that it concerns.
  private let report: @Sendable (DatabaseError) -> Void
  private var openStore: NotificationStore?
  /// Whether the store is let go of after each use.
  private var isClosed = false
  /// Oldest first. Their callers have been told.
  private var waiting: [Item] = []
  private var retries = 0
  private var isRetryDue = false
  /// Whether something may wait in the spool, for the store's next opening or the next retry.
  private var hasSpooled = false
  /// Whether the open store is to import it now.
  private var isImportDue = false

  /// Some megabytes of ordinary pushes.
  static let mostWaiting = 1000
  static let mostInCommit = 500

  static let noSpool = DatabaseError(.spoolUnavailable, "there is no spool")

  /// - Parameters:
  ///   - spool: without one nothing can wait but in memory.
  ///   - schedule: holds nothing of this queue, which ends when it is released.
  init(
    open: @escaping Opening, spool: @escaping Spooling = { _ in throw IntakeQueue.noSpool },
    schedule: @escaping Scheduling = { delay, retry in
      DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay, execute: retry)
    },
    report: @escaping @Sendable (DatabaseError) -> Void
  ) {
    self.open = open
    self.spool = spool
    self.schedule = schedule
    self.report = report
  }

  /// Stores `items` after all that came before them. Up to ``mostInCommit`` pushes given together are one transaction.
  func add(_ items: [Arrival]) { add(items.map { .store($0) }) }

  /// Calls `body` on this queue after all that was asked before, and before all that is asked later.
  func whenIdle(_ body: @escaping @Sendable () -> Void) { add([.work(body)]) }

  /// Opens the store, and stores what waits.
  func prepare() {
    whenIdle {
      self.isClosed = false
      // An extension may have spooled something while the store was open.
      self.isImportDue = true
      self.store([])
    }
  }

  /// Stores what waits, as far as that can be done now, and closes the store; later work opens it for its own time.
  func close() {
    whenIdle {
      self.isClosed = true
      if !self.waiting.isEmpty { self.store([], isQuiet: true) }
      self.closeStore()
    }
  }

  /// Calls `body` with the store, and then `finish` with what it gives, or the error.
  func perform<Value: Sendable>(
    _ body: @escaping @Sendable (NotificationStore) throws -> Value,
    finish: @escaping @Sendable (Result<Value, DatabaseError>) -> Void
  ) {
    whenIdle {
      do {
        guard let store = try self.openedStore() else {
          throw DatabaseError(.invalidConfiguration, "dbType is NONE: set the dbType, path and key of the store")
        }
        let value = try body(store)
        if self.isClosed { self.closeStore() }
        finish(.success(value))
      } catch {
        self.closeStore()
        finish(.failure(DatabaseError(describing: error)))
      }
    }
  }

  /// Closes the store, calls `body`, and then `finish` with what it gives, or the error. Later work opens the store again.
  func performClosed<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value, finish: @escaping @Sendable (Result<Value, DatabaseError>) -> Void
  ) {
    whenIdle {
      self.closeStore()
      finish(Result { try body() }.mapError { DatabaseError(describing: $0) })
    }
  }

  /// Forgets what waits for the store.
  func forgetWaiting() { whenIdle { self.waiting = [] } }

  private func add(_ new: [Job]) {
    jobs.withLock { $0.append(contentsOf: new) }
    queue.async { self.run() }
  }

  private func run() {
    let jobs = jobs.withLock { jobs in
      defer { jobs = [] }
      return jobs
    }
    var arrived: [Arrival] = []
    for job in jobs {
      switch job {
      case .store(let arrival): arrived.append(arrival)
      case .work(let work):
        if !arrived.isEmpty { store(arrived) }
        arrived = []
        work()
      }
    }
    if !arrived.isEmpty { store(arrived) }
  }

  private func openedStore() throws -> NotificationStore? {
    if openStore == nil {
      openStore = try open()
      hasSpooled = openStore?.spool.isSomethingLeft ?? false
      isImportDue = false
    }
    return openStore
  }

  private func closeStore() {
    // Whatever it says: the next use opens the file anew.
    try? openStore?.close()
    openStore = nil
  }

  // MARK: Storing

  /// Stores what waits, and then `arrived`.
  ///
  /// - Parameter isQuiet: whether a failure goes without a report, since it has been reported before.
  private func store(_ arrived: [Arrival], isQuiet: Bool = false) {
    var rest = waiting.map { Arrival(item: $0) { _ in } }[...] + arrived[...]
    waiting = []
    do {
      if let store = try openedStore() {
        if isImportDue { hasSpooled = store.takeSpoolIn().isSomethingLeft }
        isImportDue = false
        try self.store(&rest, in: store)
      } else {
        for arrival in rest { arrival.finish(.notKept(arrival.item)) }
      }
      if hasSpooled {
        retryLater()
      } else {
        retries = 0
      }
      if isClosed { closeStore() }
    } catch {
      let error = DatabaseError(describing: error)
      spool(&rest, after: error, isQuiet)
      keepWaiting(rest, error)
      if !isQuiet { report(error) }
      recover(from: error)
    }
  }

  /// Stores and takes away from `rest`.
  ///
  /// - Throws: when the store cannot be used now; what is in `rest` then was not stored.
  private func store(_ rest: inout ArraySlice<Arrival>, in store: NotificationStore) throws {
    var largest = Self.mostInCommit
    while !rest.isEmpty {
      let batch = Self.nextBatch(rest.prefix(largest))
      do {
        for (arrival, item) in zip(batch, try Self.stored(batch.map(\.item), store)) { arrival.finish(.stored(item)) }
      } catch let error as DatabaseError where error.code == .constraint {
        // The store is well, and one of the records is not: it must not take the others with it.
        guard batch.count == 1 else {
          largest = 1
          continue
        }
        report(error)
        for arrival in batch { arrival.finish(.failed(arrival.item, error)) }
      }
      rest = rest.dropFirst(batch.count)
    }
  }

  /// The pushes at the beginning, or one token: what goes into one transaction.
  private static func nextBatch(_ rest: ArraySlice<Arrival>) -> ArraySlice<Arrival> {
    let pushes = rest.prefix { if case .push = $0.item { true } else { false } }
    return pushes.isEmpty ? rest.prefix(1) : pushes
  }

  private static func stored(_ items: [Item], _ store: NotificationStore) throws -> [Item] {
    if case .token(let token)? = items.first {
      return [.token(try store.tokens.insert(token))]
    }
    let pushes: [PushRecords] = items.compactMap { if case .push(let push) = $0 { push } else { nil } }
    return try store.recordedRows(of: pushes).map { .push($0) }
  }

  private func keepWaiting(_ rest: ArraySlice<Arrival>, _ error: DatabaseError) {
    var isFull = false
    for arrival in rest {
      if waiting.count < Self.mostWaiting {
        waiting.append(arrival.item)
      } else {
        isFull = true
      }
      arrival.finish(.failed(arrival.item, error))
    }
    if isFull {
      report(
        DatabaseError(
          .tooManyWaiting,
          "\(Self.mostWaiting) records wait for the store already, the newest were not kept: mend what keeps the store shut"
        ))
    }
  }

  /// Keeps what is left in the spool, where that can be and the store is only unavailable: it is safe there, and taken away
  /// from `rest`.
  private func spool(_ rest: inout ArraySlice<Arrival>, after reason: DatabaseError, _ isQuiet: Bool) {
    guard Self.unavailable.contains(reason.code) else { return }
    var tooLarge: [Arrival] = []
    defer { rest = tooLarge + rest }
    while !rest.isEmpty {
      // What the callers are told of is what the store will hold.
      let items = rest.map { $0.item.identified }
      do {
        let durable = try spool(items.map(\.entries))
        hasSpooled = hasSpooled || durable > 0
        for (arrival, item) in zip(rest, items).prefix(durable) { arrival.finish(.stored(item)) }
        rest = rest.dropFirst(durable)
        if durable == 0 { return }
      } catch let spoolError as DatabaseError where spoolError.code == .tooLarge {
        // It must not keep the others from their place.
        tooLarge += rest.prefix(1)
        rest = rest.dropFirst()
      } catch {
        let spoolError = DatabaseError(describing: error)
        // Under a passphrase there is none, which the documentation says.
        if !isQuiet, spoolError.code != .spoolUnavailable, spoolError.code != reason.code { report(spoolError) }
        return
      }
    }
  }

  /// The store is there, or will be, and its key is not in doubt: what is sealed under the key will be read.
  private static let unavailable: Set<DatabaseError.Code> = [
    .busy, .diskFull, .inputOutput, .permissionDenied, .readOnly, .fileReplaced, .corrupt, .schemaTooNew,
    .migrationChanged,
  ]

  /// Lets go of the store, so that the next use opens it with the settings of then, and comes back to what waits if
  /// waiting may help.
  private func recover(from error: DatabaseError) {
    closeStore()
    let temporary: Set<DatabaseError.Code> = [
      .busy, .diskFull, .inputOutput, .permissionDenied, .fileReplaced, .keyUnavailable,
    ]
    if !waiting.isEmpty || hasSpooled, temporary.contains(error.code) { retryLater() }
  }

  /// In 5 s, 10 s, … up to 5 minutes. What is released before that does nothing then.
  private func retryLater() {
    guard !isRetryDue else { return }
    isRetryDue = true
    let delay = min(5 * pow(2, Double(min(retries, 6))), 300)
    retries += 1
    schedule(delay) { [weak self] in
      self?.whenIdle { [weak self] in self?.retry() }
    }
  }

  private func retry() {
    isRetryDue = false
    isImportDue = hasSpooled
    store([], isQuiet: true)
  }

  deinit {
    guard !waiting.isEmpty else { return }
    report(
      DatabaseError(
        .tooManyWaiting, "\(waiting.count) records that waited for the store were not stored: the sensor is gone"))
  }
}

extension IntakeQueue.Item {
  /// The same with identities, which it keeps wherever it goes.
  fileprivate var identified: Self {
    switch self {
    case .push(let push):
      .push(PushRecords(notification: push.notification?.identified, silentPush: push.silentPush?.identified))
    case .token(let token): .token(token.identified)
    }
  }

  fileprivate var entries: [SpoolEntry] {
    switch self {
    case .push(let push): SpoolEntry.entries(of: push)
    case .token(let token): [.token(token)]
    }
  }
}

extension DatabaseError {
  /// The error itself, or one that tells of an error of another type.
  package init(describing error: any Error) {
    self = error as? DatabaseError ?? DatabaseError(.database, "the store cannot be used: \(error)")
  }
}
