/// How long to wait after a failure.
package struct Backoff: Sendable, Equatable {
  /// In seconds, before the second attempt.
  package var first: Double = 2
  /// In seconds, whatever the number of attempts.
  package var longest: Double = 3600
  /// The longest `Retry-After` that is honoured, in seconds.
  package var longestAsked: Double = 6 * 3600

  package init(first: Double = 2, longest: Double = 3600, longestAsked: Double = 6 * 3600) {
    self.first = first
    self.longest = longest
    self.longestAsked = longestAsked
  }

  /// Doubles with each failure, up to `longest`; half of it by chance, so that devices that failed together do not come
  /// back together.
  ///
  /// - Parameters:
  ///   - failures: how many there were in a row, 1 or more.
  ///   - asked: what the server asked for, in seconds: it is waited for at least.
  ///   - chance: 0 to 1.
  /// - Returns: seconds.
  package func delay(after failures: Int, asked: Double?, chance: Double) -> Double {
    var delay = first
    for _ in 1..<max(1, min(failures, 64)) { delay = min(longest, delay * 2) }
    let own = min(longest, delay) * (0.5 + 0.5 * min(1, max(0, chance)))
    return max(own, min(longestAsked, asked ?? 0))
  }
}
