import EncryptedSQLite
import Foundation
import NotificationSync

/// The sync of one sensor that may be running: there is one at a time, and who asks meanwhile gets its result.
final class Uploads: Sendable {
  private let syncs = JoinedWork<SyncReport>()

  /// Calls `sync`, unless one runs; after one that was cancelled and is on its way out.
  func run(_ sync: @escaping @Sendable () async throws -> SyncReport) -> Task<SyncReport, any Error> {
    syncs.run(sync).task
  }

  /// Ends the sync that runs, and waits until it has let go of the store. Not to be called from a Swift task.
  func end() {
    guard let task = syncs.current else { return }
    task.cancel()
    let ended = DispatchSemaphore(value: 0)
    Task {
      _ = await task.result
      ended.signal()
    }
    // A transport answers a cancellation within a second or two.
    _ = ended.wait(timeout: .now() + 10)
  }

  /// Ends it, and waits for nothing.
  func cancel() { syncs.current?.cancel() }
}

/// An answer that is waited for until it comes, or until nobody wants it any more.
final class CancellableAnswer<Value: Sendable>: Sendable {
  private enum State: Sendable {
    case new
    case awaited(CheckedContinuation<Value, any Error>)
    case given(Result<Value, AwareNotificationError>?)
  }

  private let state = Locked<State>(.new)

  /// - Returns: false when the answer was given before, and the continuation has it now.
  func register(_ continuation: CheckedContinuation<Value, any Error>) -> Bool {
    let early: Result<Value, AwareNotificationError>? = state.withLock { state in
      if case .given(let answer) = state { return answer }
      state = .awaited(continuation)
      return nil
    }
    guard let early else { return true }
    continuation.resume(with: early)
    return false
  }

  /// - Returns: false when another answer was first.
  func give(_ answer: Result<Value, AwareNotificationError>) -> Bool {
    let (isFirst, continuation): (Bool, CheckedContinuation<Value, any Error>?) = state.withLock { state in
      switch state {
      case .new:
        state = .given(answer)
        return (true, nil)
      case .awaited(let continuation):
        state = .given(nil)
        return (true, continuation)
      case .given: return (false, nil)
      }
    }
    continuation?.resume(with: answer)
    return isFirst
  }
}
