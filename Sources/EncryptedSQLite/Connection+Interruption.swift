import CSQLCipher

extension Connection {
  /// Calls `body`, and ends the statement that runs in it when `isOver` says so.
  ///
  /// - Parameter steps: how many instructions of SQLite's virtual machine go by between two questions.
  /// - Throws: what `body` throws, which is `cancelled` from a statement that was ended.
  func withInterruption<Result>(
    every steps: Int32, _ isOver: () -> Bool, during body: () throws -> Result
  ) rethrows -> Result {
    try withoutActuallyEscaping(isOver) { isOver in
      let question = Question(isOver)
      sqlite3_progress_handler(
        handle, steps, { $0.map { Unmanaged<Question>.fromOpaque($0).takeUnretainedValue().isOver() } == true ? 1 : 0 },
        Unmanaged.passUnretained(question).toOpaque())
      defer { sqlite3_progress_handler(handle, 0, nil, nil) }
      return try withExtendedLifetime(question) { try body() }
    }
  }
}

/// Whether to stop, asked from C.
private final class Question {
  let isOver: () -> Bool
  init(_ isOver: @escaping () -> Bool) { self.isOver = isOver }
}
