/// What an answer means for the batch it is about.
package enum Verdict: Sendable, Equatable {
  /// The receiver said how many rows it took and how many it had, and they add up.
  case proven(duplicates: Int)
  /// An answer that this kind of server gives for success, and that proves nothing.
  case taken
  /// Once more, later: not before so many seconds, where the server said so.
  case later(after: Double?, SyncError)
  /// Fewer rows, then.
  case tooLarge(SyncError)
  /// No, for this table.
  case refused(SyncError)
  /// No, and the same goes for all tables.
  case refusedAll(SyncError)
}

extension Verdict {
  /// Judges an answer by an allow-list: what is not known to say yes says no.
  ///
  /// - Parameters:
  ///   - rowCount: of the batch.
  ///   - now: Unix seconds; for dates in headers.
  package init(_ response: HTTPResponse, serverType: ServerType, rowCount: Int, server: String, now: Double) {
    let answer = ServerAnswer(response)
    func error(_ code: SyncError.Code, _ text: String) -> SyncError {
      SyncError(code, "\(server) \(text)")
    }
    let came = "answered \(response.status) with \(answer.kind)"
    switch response.status {
    case 200..<300 where response.body.isEmpty && !response.isDelimited:
      // Refusals under 200 have a body: cut off before it, one would look like a yes.
      self = .later(
        after: nil,
        error(
          .connectionFailed,
          "\(came) and no length, so the answer may have been cut short: have the server send Content-Length"))
    case 200..<300:
      self =
        Self.accepted(answer, serverType, rowCount)
        ?? .refused(error(.refused, "\(came), which is no acknowledgement: nothing was marked as sent"))
    case 300..<400:
      self = .refusedAll(
        error(.redirected, "\(came), a redirect, and redirects are not followed: set dbHost to where the server is"))
    case 413: self = .tooLarge(error(.refused, "\(came): the batch is too large for it"))
    case 408, 425, 429, 500..<600:
      let wait = response.headers["retry-after"].flatMap { RetryAfter.seconds($0, now: now) }
      self = .later(after: wait, error(.serverUnavailable, "\(came): trying again later"))
    case 401, 403:
      let clock = response.headers["date"].flatMap { RetryAfter.date($0) }.map { abs($0 - now) > 300 } ?? false
      let hint =
        clock
        ? "the clocks of device and server are more than 5 minutes apart, so signatures count as too old: set the clock"
        : "check study number, study key, signing key and its id, and the clock"
      self = .refusedAll(error(.refused, "\(came): \(hint)"))
    default:
      self = .refused(error(.refused, "\(came): check dbHost, serverType and the study"))
    }
  }

  private static func accepted(_ answer: ServerAnswer, _ serverType: ServerType, _ rowCount: Int) -> Verdict? {
    switch answer {
    case .empty: return .taken
    case .object(let members):
      if Set(members.keys) == ["accepted", "duplicates"] {
        guard case .integer(let accepted)? = members["accepted"],
          case .integer(let duplicates)? = members["duplicates"],
          (0...rowCount).contains(accepted), duplicates == rowCount - accepted
        else {
          return nil
        }
        return .proven(duplicates: duplicates)
      }
      // The PHP server gives an empty answer for success, and nothing else.
      guard serverType != .aware else { return nil }
      return members.allSatisfy { saysYes($0.key, $0.value, rowCount) } ? .taken : nil
    case .text, .html, .json, .cut: return nil
    }
  }

  private static func saysYes(_ name: String, _ value: ServerAnswer.Value, _ rowCount: Int) -> Bool {
    switch (name, value) {
    case ("status", .text(let word)): ["ok", "success"].contains(word.lowercased())
    case ("status", .integer(let code)): (200..<300).contains(code)
    case ("success", .boolean(let value)): value
    case ("inserted", .integer(let count)): count == rowCount
    default: false
    }
  }
}
