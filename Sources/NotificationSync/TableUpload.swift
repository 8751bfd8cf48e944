import NotificationStore

/// Decides what happens next with one table in one sync. It knows no clock, no socket and no file: it is told.
struct TableUpload: Sendable {
  enum Action: Equatable {
    /// Build the batch on its way again, and send it under its own key if it gives the same bytes.
    case resend(UploadBatch)
    /// Build a new batch of rows with ids above `after`.
    case plan(after: Int64, rowLimit: Int)
    /// Build a batch of a row that had been set aside.
    case planRequeued(Int64)
    /// The last failure asks to wait until then, in Unix milliseconds.
    case waiting(until: Int64)
  }

  /// What goes into the ledger after an answer.
  enum Change: Equatable {
    case acknowledge(removing: Bool)
    case fail(SyncError, notBefore: Int64)
    /// The batch is planned anew with no more rows than this.
    case shrink(to: Int, SyncError)
    /// The batch's only row is set aside.
    case quarantine(SyncError)
  }

  enum Next: Equatable {
    case goOn
    /// Once more, after so many seconds.
    case retry(after: Double)
    case endTable
    case endSync
  }

  let format: String
  let destination: String
  let batchSize: Int
  let isForced: Bool
  let removal: (proven: Bool, taken: Bool)
  let backoff: Backoff
  let attemptsPerSync: Int
  let longestWait: Double
  /// Attempts of the batch in hand, in this sync.
  private var attempts = 0
  /// Rows set aside one after the other, in this sync, with no batch taken between them.
  private var setAsideInARow = 0
  /// A server that takes none of so many rows would take no other either.
  private static let mostSetAsideInARow = 3

  init(_ settings: SyncSettings, _ target: UploadTarget, isForced: Bool) {
    format = target.format.name
    destination = target.destination
    batchSize = settings.batchSize
    self.isForced = isForced
    removal = (settings.removeAfterSync, settings.removeAfterSync && settings.removeWithoutProof)
    backoff = settings.backoff
    attemptsPerSync = settings.attemptsPerSync
    longestWait = settings.longestWait
  }

  /// - Parameter requeued: the first row that was set aside and is asked for again.
  func next(_ state: UploadState, requeued: Int64?, now: Int64) -> Action {
    // A time further off than any wait was set by a clock that was wrong.
    let longest = Int64(max(backoff.longest, backoff.longestAsked) * 1000)
    if !isForced, attempts == 0, state.notBefore > now, state.notBefore <= now + longest {
      return .waiting(until: state.notBefore)
    }
    if let batch = state.batch, isCurrent(batch) { return .resend(batch) }
    if let requeued { return .planRequeued(requeued) }
    return .plan(after: state.sentThroughId, rowLimit: rowLimit(state))
  }

  func rowLimit(_ state: UploadState) -> Int { max(1, min(batchSize, state.rowLimit ?? batchSize)) }

  /// Whether the batch would be written and sent now as it was.
  private func isCurrent(_ batch: UploadBatch) -> Bool {
    batch.encoderVersion == BatchFormat.encoderVersion && batch.serverType == format
      && batch.destination == destination
  }

  /// - Parameters:
  ///   - failures: in a row, before this one.
  ///   - chance: 0 to 1, for the back-off.
  mutating func answered(_ verdict: Verdict, _ batch: UploadBatch, failures: Int, now: Int64, chance: Double)
    -> (Change, Next)
  {
    switch verdict {
    case .proven:
      (attempts, setAsideInARow) = (0, 0)
      return (.acknowledge(removing: removal.proven), .goOn)
    case .taken:
      (attempts, setAsideInARow) = (0, 0)
      return (.acknowledge(removing: removal.taken), .goOn)
    case .tooLarge(let error):
      attempts = 0
      guard batch.rowCount == 1 else { return (.shrink(to: batch.rowCount / 2, error), .goOn) }
      guard setAsideInARow < Self.mostSetAsideInARow else { return (.fail(error, notBefore: 0), .endTable) }
      setAsideInARow += 1
      return (.quarantine(error), .goOn)
    case .refused(let error): return (.fail(error, notBefore: 0), .endTable)
    case .refusedAll(let error): return (.fail(error, notBefore: 0), .endSync)
    case .later(let asked, let error):
      attempts += 1
      let delay = backoff.delay(after: failures + 1, asked: asked, chance: chance)
      let change = Change.fail(error, notBefore: now + Int64(delay * 1000))
      guard attempts < attemptsPerSync, delay <= longestWait else {
        // Where nobody can be reached, the other tables would not reach them either.
        return (change, error.isAboutTheConnection ? .endSync : .endTable)
      }
      return (change, .retry(after: delay))
    }
  }
}

extension SyncError {
  var isAboutTheConnection: Bool { code == .connectionFailed || code == .timedOut || code == .invalidResponse }

  /// What a failure of the transport means for the batch.
  var verdict: Verdict {
    isAboutTheConnection ? .later(after: nil, self) : .refusedAll(self)
  }
}
