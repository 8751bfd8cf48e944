import CSQLCipher
import Foundation

/// Waiting for a lock that another connection or process holds: until it is free, the time is over, or the program is
/// interrupted.
package final class LockWait {
  /// How every wait of this process behaves. A program sets it before it opens a file.
  package struct Policy: Sendable {
    /// How long a wait lasts where no other timeout is given, in seconds.
    package var timeout: Double = 5
    /// After how many seconds of one wait `notice` is called.
    package var noticeDelay: Double = 2
    /// Called once a wait with the path that is waited for; nil: the wait is silent.
    package var notice: (@Sendable (_ path: String) -> Void)?
    /// Polled while waiting; true ends the wait after a second at most, and the call that waits throws `cancelled`. The
    /// second is for what an interrupted program still has to write, which a short lock must not stop.
    package var isInterrupted: @Sendable () -> Bool = { false }
  }

  package static let policy = Locked(Policy())

  let path: String
  private let timeout: Double
  private var clock = Clock()
  /// The seconds of this wait that do not count, for another process was replacing the file.
  private var uncounted = 0.0
  private var attempts = 0
  private var hasGivenNotice = false

  /// - Parameter timeout: in seconds; nil means the process's own.
  package init(_ path: String, timeout: Double?) {
    self.path = path
    self.timeout = min(max(0, timeout ?? Self.policy.snapshot.timeout), 1_000_000)
  }

  /// Starts the time again: another lock is waited for.
  func restart() {
    clock = Clock()
    uncounted = 0
    attempts = 0
    hasGivenNotice = false
  }

  /// Sleeps before the next attempt.
  ///
  /// - Parameter isUncounted: whether the time until now is left out of the timeout.
  /// - Returns: false when the wait is over.
  func mayRetry(isUncounted: Bool = false) -> Bool {
    let elapsed = clock.seconds
    if isUncounted { uncounted = elapsed }
    let policy = Self.policy.snapshot
    guard elapsed - uncounted < timeout, elapsed < Self.interruptedTimeout || !policy.isInterrupted() else {
      return false
    }
    if !hasGivenNotice, elapsed >= policy.noticeDelay {
      hasGivenNotice = true
      policy.notice?(path)
    }
    usleep(Self.delays[min(attempts, Self.delays.count - 1)] * 1000)
    attempts += 1
    return true
  }

  /// In seconds.
  private static let interruptedTimeout = 1.0

  /// In milliseconds; those of SQLite's own busy handler.
  private static let delays: [UInt32] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100]

  /// What a wait that ended without the lock throws.
  ///
  /// - Parameter busy: the error where the time was over.
  package static func error(_ path: String, busy: DatabaseError) -> DatabaseError {
    guard policy.snapshot.isInterrupted() else { return busy }
    return DatabaseError(
      .cancelled, "waiting for \(path) was interrupted; nothing was changed", sqliteCode: busy.sqliteCode)
  }

  /// Makes SQLite wait this way on `handle`. The caller keeps this object for as long as the handle is open.
  func install(on handle: OpaquePointer) {
    sqlite3_busy_handler(
      handle,
      { context, attempts in
        guard let context else { return 0 }
        let wait = Unmanaged<LockWait>.fromOpaque(context).takeUnretainedValue()
        if attempts == 0 { wait.restart() }
        return wait.mayRetry() ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }
}
