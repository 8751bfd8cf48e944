import EncryptedSQLite

/// Work of which there is one at a time: who asks while it runs gets its result.
package final class JoinedWork<Value: Sendable>: Sendable {
  private let running = Locked<(number: Int, task: Task<Value, any Error>?)>((0, nil))

  package init() {}

  /// What runs now; nil when nothing does.
  package var current: Task<Value, any Error>? { running.snapshot.task }

  /// Begins `work`, unless some runs; after some that was cancelled and is on its way out.
  ///
  /// - Returns: the work, and whether this call began it.
  package func run(
    _ work: @escaping @Sendable () async throws -> Value
  ) -> (task: Task<Value, any Error>, isOurs: Bool) {
    running.withLock { current in
      if let task = current.task, !task.isCancelled { return (task, false) }
      let number = current.number + 1
      let task = Task { [previous = current.task] in
        defer { running.withLock { if $0.number == number { $0.task = nil } } }
        _ = await previous?.result
        return try await work()
      }
      current = (number, task)
      return (task, true)
    }
  }
}
