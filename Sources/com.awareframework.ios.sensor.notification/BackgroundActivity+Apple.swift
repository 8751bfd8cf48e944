#if canImport(UIKit)
  import Foundation

  /// Asks the system not to suspend the program while some work goes on. Also in extensions, which have no application object.
  final class BackgroundActivity: Sendable {
    /// How long the system is kept waiting once it has said that the time is over, in seconds.
    private static let grace: TimeInterval = 5
    private let work = DispatchGroup()

    /// - Parameters:
    ///   - reason: for the system's log.
    ///   - stop: makes the work end soon. It is called, on any thread, when the program is about to be suspended; also at once,
    ///     when the system grants no time at all.
    init(_ reason: String, stop: @escaping @Sendable () -> Void) {
      let work = work
      work.enter()
      // The activity lasts until the block returns. For the news that its time is over the block is called a second time,
      // and the program may be suspended when that returns: by then the work should have let go of its files.
      ProcessInfo.processInfo.performExpiringActivity(withReason: reason) { isExpired in
        guard isExpired else { return work.wait() }
        // The news may come when the work has just ended.
        guard work.wait(timeout: .now()) == .timedOut else { return }
        stop()
        _ = work.wait(timeout: .now() + Self.grace)
      }
    }

    /// The work has ended. To be called once.
    func end() { work.leave() }
  }
#endif
