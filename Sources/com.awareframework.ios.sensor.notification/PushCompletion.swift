import EncryptedSQLite
import Foundation

/// Calls the completion handler of one push exactly once, in time whatever happens.
///
/// - Note: `@unchecked Sendable`: `state` is guarded, and the handler is called on `queue` only.
final class PushCompletion: @unchecked Sendable {
  private struct State {
    var handler: ((UIBackgroundFetchResult) -> Void)?
    var isSafe = false
  }

  private let state: Locked<State>
  private let queue: DispatchQueue

  /// - Parameters:
  ///   - queue: where the handler is called.
  ///   - limit: in seconds, how long it may take.
  init(on queue: DispatchQueue, within limit: TimeInterval, _ handler: @escaping (UIBackgroundFetchResult) -> Void) {
    state = Locked(State(handler: handler))
    self.queue = queue
    DispatchQueue.global().asyncAfter(deadline: .now() + limit) { self.finish() }
  }

  /// Notes that no row is missing: it is stored, or none is to be kept.
  func noteSafe() { state.isSafe = true }

  /// Calls the handler, unless it has been called: with `.failed` when a row is missing.
  func finish() {
    let (handler, isSafe) = state.withLock { state in
      defer { state.handler = nil }
      return (state.handler, state.isSafe)
    }
    guard let handler else { return }
    let carried = Carried(handler)
    queue.async { carried.value(isSafe ? .newData : .failed) }
  }
}
