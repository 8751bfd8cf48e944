import CSQLCipher

extension Connection {
  /// Calls `body`, and ends the statement that runs in it when `isOver` returns true, or an `isOver` of a call around
  /// this one does.
  ///
  /// - Parameter steps: how many instructions of SQLite's virtual machine run between two calls of `isOver`.
  /// - Throws: what `body` throws, which is `cancelled` from a statement that was ended.
  func withInterruption<Result>(
    every steps: Int32, _ isOver: () -> Bool, during body: () throws -> Result
  ) rethrows -> Result {
    try withoutActuallyEscaping(isOver) { isOver in
      let outer = interruption
      interruption = Interruption(every: steps, isOver, inside: outer)
      installInterruption()
      defer {
        interruption = outer
        installInterruption()
      }
      return try body()
    }
  }

  /// A connection has one progress handler: it serves the whole stack of interruptions.
  private func installInterruption() {
    guard let interruption else {
      sqlite3_progress_handler(handle, 0, nil, nil)
      return
    }
    sqlite3_progress_handler(
      handle, interruption.period,
      { context in
        guard let context else { return 0 }
        let interruption = Unmanaged<Interruption>.fromOpaque(context).takeUnretainedValue()
        return interruption.isOver(after: interruption.period) ? 1 : 0
      }, Unmanaged.passUnretained(interruption).toOpaque())
  }
}

/// Whether to end the statement that runs, called from C. The innermost of a stack.
final class Interruption {
  /// How many instructions run between two calls of the handler: those of the most frequent in the stack.
  let period: Int32
  private let steps: Int32
  private var stepsSinceCall: Int32 = 0
  private let isOver: () -> Bool
  private let outer: Interruption?

  init(every steps: Int32, _ isOver: @escaping () -> Bool, inside outer: Interruption?) {
    self.steps = steps
    self.isOver = isOver
    self.outer = outer
    period = min(steps, outer?.period ?? steps)
  }

  func isOver(after period: Int32) -> Bool {
    stepsSinceCall += period
    guard stepsSinceCall >= steps else { return outer?.isOver(after: period) ?? false }
    stepsSinceCall = 0
    return isOver() || outer?.isOver(after: period) ?? false
  }
}
