import CSQLCipher
import Foundation

/// A serial executor that owns one connection and serves synchronous and asynchronous callers in order.
///
/// The connection is opened at the first use and never leaves the queue. When the file was rotated to another key or
/// replaced under it, the connection is closed and opened once more, and the work is done again from its start; work
/// must therefore leave nothing behind outside the database when it throws.
///
/// - Note: `@unchecked Sendable`: `connection`, `isClosed` and `hasOpened` are touched on `queue` only.
public final class ConnectionQueue: @unchecked Sendable {
  private let queue: DispatchQueue
  private let path: String
  private let openConnection: @Sendable () throws -> Connection
  private var connection: Connection?
  private var isClosed = false
  /// Whether the key has opened the file before: from then on a key that does not fit is news about the file.
  private var hasOpened: Bool
  /// The other queue of the same store. Its work may call this queue; this queue's work may not call it.
  private let outer: ConnectionQueue?

  /// - Parameters:
  ///   - path: the file's path, for error texts.
  ///   - outer: the store's other queue, whose work may call this one. Calls the other way round trap: two threads that
  ///     nest in opposite orders would wait for each other.
  ///   - hasOpened: whether another queue has opened the file under the same key already.
  ///   - open: gives a new connection; called on the queue.
  public init(
    label: String, path: String, inside outer: ConnectionQueue? = nil, hasOpened: Bool = false,
    open: @escaping @Sendable () throws -> Connection
  ) {
    queue = DispatchQueue(label: label)
    self.path = path
    self.outer = outer
    self.hasOpened = hasOpened
    openConnection = open
  }

  /// Runs `body` on the connection and waits for it.
  ///
  /// - Throws: what `body` throws; what opening throws; `keyChanged`, `fileReplaced`, `closed`.
  public func run<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    try enter { try perform(body) }
  }

  /// Runs `body` on the connection without blocking a thread. Cancelling the task interrupts the statement that runs.
  ///
  /// - Throws: as ``run(_:)-(_)``, and `cancelled`.
  public func run<Result: Sendable>(_ body: @escaping @Sendable (Connection) throws -> Result) async throws -> Result {
    let job = Job()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        queue.async {
          continuation.resume(
            with: Swift.Result {
              try CallChain.run(on: self, from: nil) {
                try self.perform { connection in
                  try job.run(on: connection) { try body(connection) }
                }
              }
            })
        }
      }
    } onCancel: {
      job.cancel()
    }
  }

  /// Closes the connection after the work that waits already. Further calls throw `closed`.
  public func close() throws {
    try enter {
      isClosed = true
      try connection?.close()
      connection = nil
    }
  }

  /// Closes the connection and calls `body`, while this queue opens none. The next work opens one.
  func withoutConnection<Result>(_ body: () throws -> Result) throws -> Result {
    try enter {
      guard !isClosed else { throw closedError }
      try connection?.close()
      connection = nil
      return try body()
    }
  }

  private var closedError: DatabaseError { DatabaseError(.closed, "the store at \(path) was closed: open it again") }

  /// Runs `body` on the queue and waits for it, where that cannot be a wait without end.
  private func enter<Result>(_ body: () throws -> Result) rethrows -> Result {
    let chain = CallChain.current
    var link = chain
    while let current = link {
      precondition(
        current.queue !== self,
        "this call is made inside the same store's own work: use the connection that was handed to it")
      precondition(
        current.queue.outer !== self,
        "a write is made inside a read of the same store, which can wait forever: read inside the write, or write after "
          + "the read")
      link = current.caller
    }
    return try queue.sync { try CallChain.run(on: self, from: chain, body) }
  }

  private func perform<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    guard !isClosed else { throw closedError }
    var isFresh = connection == nil
    if let connection, connection.isFileReplaced {
      reset()
      isFresh = true
    }
    do {
      return try body(try openedConnection())
    } catch let error as DatabaseError where error.isAboutTheFile {
      reset()
      guard !isFresh else { throw error }
      do {
        return try body(try openedConnection())
      } catch let second as DatabaseError where second.isAboutTheFile {
        reset()
        throw second
      }
    }
  }

  private func openedConnection() throws -> Connection {
    if let connection { return connection }
    do {
      let opened = try openConnection()
      connection = opened
      hasOpened = true
      return opened
    } catch let error as DatabaseError where error.code == .notFound && hasOpened {
      throw DatabaseError(
        .fileReplaced, "no file stands at \(path) any more: put it back, or close the store and open it again")
    } catch let error as DatabaseError where error.isOfKey && hasOpened {
      throw DatabaseError(
        .keyChanged,
        "\(path) no longer opens with the key that opened it before: it was rotated to another key, or another store "
          + "stands there, or its first page is damaged; open it with the current key", sqliteCode: error.sqliteCode)
    }
  }

  private func reset() {
    // Without `close()`, which would fold the log in.
    connection = nil
  }
}

extension DatabaseError {
  /// The connection is of no more use: the file under it is not the one it opened.
  fileprivate var isAboutTheFile: Bool { code == .keyChanged || code == .fileReplaced }
}

/// The queues whose work a thread is in the middle of, the innermost first.
///
/// Kept for each thread: `DispatchQueue.getSpecific` knows the innermost queue only, and would not see through another
/// queue of the caller's between two of them.
private final class CallChain {
  let queue: ConnectionQueue
  let caller: CallChain?

  private init(_ queue: ConnectionQueue, _ caller: CallChain?) {
    self.queue = queue
    self.caller = caller
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    precondition(pthread_key_create(&key, nil) == 0, "the process has no thread-specific key left")
    return key
  }()

  /// The chain of the calling thread; nil where no work is under way.
  static var current: CallChain? {
    pthread_getspecific(key).map { Unmanaged<CallChain>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Calls `body`, the work of `queue`, for a caller with the chain `caller`.
  static func run<Result>(
    on queue: ConnectionQueue, from caller: CallChain?, _ body: () throws -> Result
  ) rethrows -> Result {
    let link = CallChain(queue, caller)
    // `sync` runs the work on the caller's thread, as a rule.
    let before = pthread_getspecific(key)
    pthread_setspecific(key, Unmanaged.passUnretained(link).toOpaque())
    defer { pthread_setspecific(key, before) }
    return try withExtendedLifetime(link) { try body() }
  }
}

/// One asynchronous piece of work, whose running statement can be interrupted from any thread.
///
/// - Note: `@unchecked Sendable`: all state is guarded by `lock`.
private final class Job: @unchecked Sendable {
  private let lock = NSLock()
  private var isCancelled = false
  /// The connection while the work runs on it, so that an interrupt never hits another's statement.
  private var handle: OpaquePointer?

  func run<Result>(on connection: Connection, _ body: () throws -> Result) throws -> Result {
    lock.lock()
    let isCancelled = isCancelled
    if !isCancelled { handle = connection.handle }
    lock.unlock()
    guard !isCancelled else {
      throw DatabaseError(.cancelled, "the work was cancelled before it began")
    }
    defer {
      lock.lock()
      handle = nil
      lock.unlock()
    }
    // SQLite forgets an interrupt that comes while no statement runs: the next statement asks here.
    return try connection.withInterruption(every: Self.stepsBetweenChecks) {
      isOver
    } during: {
      try body()
    }
  }

  /// In instructions of SQLite's virtual machine: some tens of microseconds.
  private static let stepsBetweenChecks: Int32 = 1000

  private var isOver: Bool {
    lock.lock()
    defer { lock.unlock() }
    return isCancelled
  }

  func cancel() {
    lock.lock()
    defer { lock.unlock() }
    isCancelled = true
    if let handle { sqlite3_interrupt(handle) }
  }
}
