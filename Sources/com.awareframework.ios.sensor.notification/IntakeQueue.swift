import EncryptedSQLite
import Foundation
import NotificationStore

/// Stores what the sensor receives, in order, off the caller's thread.
///
/// The store is opened when it is first needed. What arrives while a commit runs goes into the next one together. While
/// the store cannot be used, records wait here, up to a bound, for the next chance.
///
/// - Note: `@unchecked Sendable`: `store`, `waiting`, `retries` and `isRetryDue` are touched on `queue` only, and
///   `arrivals` is guarded.
final class IntakeQueue: @unchecked Sendable {
  enum Item: Sendable {
    case push(PushRecords)
    case token(NotificationTokenData)
  }

  enum Outcome: Sendable {
    /// The item now has the ids and the device id of its rows.
    case stored(Item)
    /// By choice nothing is stored.
    case notKept(Item)
    case failed(Item, DatabaseError)
  }

  /// Opens the store that is configured now; nil when nothing is to be stored.
  typealias Opening = @Sendable () throws -> NotificationStore?

  struct Arrival {
    let item: Item
    /// Called once, on the intake's queue.
    let finish: @Sendable (Outcome) -> Void
  }

  private let queue = DispatchQueue(label: "NotificationSensor.intake")
  private let arrivals = Locked<[Arrival]>([])
  private let open: Opening
  /// Is told of each failure, once for all the records that it concerns.
  private let report: @Sendable (DatabaseError) -> Void
  private var store: NotificationStore?
  /// Oldest first. Their callers have been told.
  private var waiting: [Item] = []
  private var retries = 0
  private var isRetryDue = false

  /// Some megabytes of ordinary pushes.
  static let mostWaiting = 1000
  static let mostInCommit = 500

  init(open: @escaping Opening, report: @escaping @Sendable (DatabaseError) -> Void) {
    self.open = open
    self.report = report
  }

  /// Stores `items` after all that came before them. Up to ``mostInCommit`` pushes given together are one transaction.
  func add(_ items: [Arrival]) {
    arrivals.withLock { $0.append(contentsOf: items) }
    queue.async { self.drain() }
  }

  /// Opens the store, and stores what waits.
  func prepare() {
    queue.async {
      do {
        _ = try self.openedStore()
        self.drain()
      } catch {
        self.noteFailure(error)
      }
    }
  }

  /// Closes the store after the work that was given before; later work opens it again.
  func close() {
    queue.async {
      self.drain()
      self.closeStore()
    }
  }

  /// Calls `body` with the store, after the work that was given before.
  ///
  /// - Parameter finish: called once, on this queue, with the error if there was one.
  func perform(
    _ body: @escaping @Sendable (NotificationStore) throws -> Void,
    finish: @escaping @Sendable (DatabaseError?) -> Void
  ) {
    queue.async {
      self.drain()
      do {
        if let store = try self.openedStore() { try body(store) }
        finish(nil)
      } catch {
        self.closeStore()
        finish(DatabaseError(describing: error))
      }
    }
  }

  /// Calls `body` on this queue after the work that was given before.
  func whenIdle(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

  /// Forgets what waits for the store.
  func forgetWaiting() { queue.async { self.waiting = [] } }

  private func openedStore() throws -> NotificationStore? {
    if store == nil { store = try open() }
    return store
  }

  private func closeStore() {
    // Whatever it says: the next use opens the file anew.
    try? store?.close()
    store = nil
  }

  // MARK: Storing

  private func drain() {
    let arrived = arrivals.withLock { arrivals in
      defer { arrivals = [] }
      return arrivals
    }
    guard !arrived.isEmpty || !waiting.isEmpty else { return }
    var rest = waiting.map { Arrival(item: $0) { _ in } }[...] + arrived[...]
    waiting = []
    do {
      guard let store = try openedStore() else {
        for arrival in rest { arrival.finish(.notKept(arrival.item)) }
        return
      }
      while !rest.isEmpty {
        let batch = Self.nextBatch(rest)
        for (arrival, outcome) in zip(batch, try self.outcomes(batch.map(\.item), store)) { arrival.finish(outcome) }
        rest = rest.dropFirst(batch.count)
      }
      retries = 0
    } catch {
      let error = DatabaseError(describing: error)
      let isNews = !arrived.isEmpty
      keepWaiting(rest, error)
      if isNews { report(error) }
      recover(from: error)
    }
  }

  /// The pushes at the beginning, or one token: what goes into one transaction.
  private static func nextBatch(_ rest: ArraySlice<Arrival>) -> ArraySlice<Arrival> {
    let pushes = rest.prefix(mostInCommit).prefix { if case .push = $0.item { true } else { false } }
    return pushes.isEmpty ? rest.prefix(1) : pushes
  }

  /// - Throws: when the store cannot be used now, and so nothing of the batch was stored.
  private func outcomes(_ items: [Item], _ store: NotificationStore) throws -> [Outcome] {
    do {
      return try Self.stored(items, store).map { .stored($0) }
    } catch let error as DatabaseError where error.code == .constraint {
      // The store is well, and one of the records is not: it must not take the others with it.
      return try items.map { item in
        do {
          return .stored(try Self.stored([item], store)[0])
        } catch let error as DatabaseError where error.code == .constraint {
          report(error)
          return .failed(item, error)
        }
      }
    }
  }

  private static func stored(_ items: [Item], _ store: NotificationStore) throws -> [Item] {
    if case .token(let token)? = items.first {
      return [.token(try store.tokens.insert(token).filled(store.deviceId))]
    }
    let pushes: [PushRecords] = items.compactMap { if case .push(let push) = $0 { push } else { nil } }
    return zip(pushes, try store.record(pushes)).map { push, intake in
      var push = push
      push.notification = push.notification?.filled(store.deviceId)
      push.notification?.id = intake.notificationId
      push.silentPush = push.silentPush?.filled(store.deviceId)
      push.silentPush?.id = intake.silentPushId
      return .push(push)
    }
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

  private func noteFailure(_ error: any Error) {
    let error = DatabaseError(describing: error)
    report(error)
    recover(from: error)
  }

  /// Lets go of the store, so that the next use opens it with the settings of then, and comes back to what waits.
  private func recover(from error: DatabaseError) {
    closeStore()
    guard !waiting.isEmpty, !isRetryDue else { return }
    isRetryDue = true
    // 5 s, 10 s, … up to 5 minutes.
    let delay = min(5 * pow(2, Double(min(retries, 6))), 300)
    retries += 1
    queue.asyncAfter(deadline: .now() + delay) { [weak self] in
      self?.isRetryDue = false
      self?.drain()
    }
  }
}

extension AwareRecord {
  /// The record as it was stored: an empty device id is the store's.
  fileprivate func filled(_ deviceId: String) -> Self {
    var record = self
    if record.deviceId.isEmpty { record.deviceId = deviceId }
    return record
  }
}

extension DatabaseError {
  /// The error itself, or one that tells of an error of another type.
  init(describing error: any Error) {
    self = error as? DatabaseError ?? DatabaseError(.database, "the store cannot be used: \(error)")
  }
}
