import Foundation

/// A signal between a test and the work it started: who comes to `pass` waits until `open` was called.
public final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  public init() {}

  public func open() { semaphore.signal() }

  /// Waits on this thread, which must not be one that tasks run on.
  public func pass() { precondition(semaphore.wait(timeout: .now() + 60) == .success, "nobody opened the gate") }

  /// Waits without holding a thread that tasks run on.
  public func pass() async {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        self.passOnThisThread()
        continuation.resume()
      }
    }
  }

  private func passOnThisThread() { pass() }
}

/// Runs the tasks that prefer it one after another, so that a test knows when each has come to its first wait.
@available(macOS 15, iOS 18, *)
public final class StepByStep: TaskExecutor {
  private let queue = DispatchQueue(label: "StepByStep")

  public init() {}

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  /// Starts a task and returns when it waits for something.
  public func start<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
  ) -> Task<Result, any Error> {
    let task = Task(executorPreference: self, operation: body)
    queue.sync {}
    return task
  }
}
