import EncryptedSQLite
import Foundation

/// One push on its way to the screen: its content is handed on exactly once, whatever happens.
final class Delivery: Sendable {
  private struct State: Sendable {
    var content: NotificationContent
    var handler: (@Sendable (NotificationContent) -> Void)?
    var work: Task<Void, Never>?
  }

  private let state: Locked<State>

  init(_ content: NotificationContent, _ handler: @escaping @Sendable (NotificationContent) -> Void) {
    state = Locked(State(content: content, handler: handler))
  }

  /// What is handed on, unless something better comes in time.
  func offer(_ content: NotificationContent) { state.content = content }

  /// What is stopped when the content has been handed on.
  func begin(_ work: Task<Void, Never>) { state.work = work }

  /// Hands the content on, unless that has been done.
  func finish() {
    let (handler, content) = state.withLock { state in
      defer { state.handler = nil }
      return (state.handler, state.content)
    }
    handler?(content)
  }

  /// Hands the content on now, and gives the work up.
  func expire() {
    finish()
    state.work?.cancel()
  }

  var isFinished: Bool { state.withLock { $0.handler == nil } }
}
