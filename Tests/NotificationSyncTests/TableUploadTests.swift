import NotificationStore
import Testing

@testable import NotificationSync

@Suite("The planner of a table's upload") struct TableUploadTests {
  private let refusal = SyncError(.serverUnavailable, "later")
  private let now: Int64 = 1_700_000_000_000

  private func settings(_ change: (inout SyncSettings) -> Void = { _ in }) -> SyncSettings {
    var settings = SyncSettings(host: "h", deviceId: "d")
    change(&settings)
    return settings
  }

  private func planner(
    isForced: Bool = false, _ change: (inout SyncSettings) -> Void = { _ in }
  ) throws -> TableUpload {
    let settings = settings(change)
    return TableUpload(settings, try UploadTarget(settings), isForced: isForced)
  }

  private func batch(rows: Int = 10, _ change: (inout UploadBatch) -> Void = { _ in }) throws -> UploadBatch {
    let target = try UploadTarget(settings())
    var batch = UploadBatch(
      idempotencyKey: "k", firstId: 1, lastId: Int64(rows), rowCount: rows, digest: [], envelopeTime: 0,
      encoderVersion: BatchFormat.encoderVersion, serverType: target.format.name, destination: target.destination)
    change(&batch)
    return batch
  }

  @Test("goes on after the cursor") func plan() throws {
    #expect(
      try planner().next(UploadState(sentThroughId: 41), requeued: nil, now: now) == .plan(after: 41, rowLimit: 1000))
    var state = UploadState()
    state.rowLimit = 12
    #expect(try planner().next(state, requeued: nil, now: now) == .plan(after: 0, rowLimit: 12))
    state.rowLimit = 0
    #expect(try planner().next(state, requeued: nil, now: now) == .plan(after: 0, rowLimit: 1))
  }

  @Test("sends the batch on its way again before anything else, if it would be written the same") func resend() throws {
    let batch = try batch()
    let state = UploadState(batch: batch)
    #expect(try planner().next(state, requeued: 3, now: now) == .resend(batch))
    #expect(try planner { $0.host = "other" }.next(state, requeued: nil, now: now) == .plan(after: 0, rowLimit: 1000))
    #expect(try planner { $0.studyNumber = 2 }.next(state, requeued: nil, now: now) == .plan(after: 0, rowLimit: 1000))
    #expect(
      try planner { $0.compactDataFormat = true }.next(state, requeued: nil, now: now)
        == .plan(after: 0, rowLimit: 1000))
    // A batch refused for a wrong key goes out again as it was.
    #expect(try planner { $0.studyKey = "right" }.next(state, requeued: nil, now: now) == .resend(batch))
    let older = try self.batch { $0.encoderVersion -= 1 }
    #expect(try planner().next(UploadState(batch: older), requeued: nil, now: now) == .plan(after: 0, rowLimit: 1000))
  }

  @Test("takes a row that is asked for again before new ones") func requeued() throws {
    #expect(try planner().next(UploadState(sentThroughId: 9), requeued: 3, now: now) == .planRequeued(3))
  }

  @Test("waits as long as it was told, unless somebody insists or the clock was wrong") func waiting() throws {
    var state = UploadState()
    state.notBefore = now + 5000
    #expect(try planner().next(state, requeued: nil, now: now) == .waiting(until: now + 5000))
    #expect(try planner(isForced: true).next(state, requeued: nil, now: now) == .plan(after: 0, rowLimit: 1000))
    #expect(try planner().next(state, requeued: nil, now: now + 5000) == .plan(after: 0, rowLimit: 1000))
    state.notBefore = now + 365 * 86_400_000
    #expect(try planner().next(state, requeued: nil, now: now) == .plan(after: 0, rowLimit: 1000))
  }

  @Test("removes rows on proof, without proof only where that was allowed") func removal() throws {
    func removes(_ verdict: Verdict, _ change: (inout SyncSettings) -> Void) throws -> TableUpload.Change {
      var planner = try planner(change)
      return planner.answered(verdict, try batch(), failures: 0, now: now, chance: 0).0
    }
    for verdict in [Verdict.proven(duplicates: 0), .taken] {
      #expect(try removes(verdict) { _ in } == .acknowledge(removing: false))
      #expect(try removes(verdict) { $0.removeWithoutProof = true } == .acknowledge(removing: false))
    }
    #expect(try removes(.proven(duplicates: 0)) { $0.removeAfterSync = true } == .acknowledge(removing: true))
    #expect(try removes(.taken) { $0.removeAfterSync = true } == .acknowledge(removing: false))
    #expect(
      try removes(.taken) {
        ($0.removeAfterSync, $0.removeWithoutProof) = (true, true)
      } == .acknowledge(removing: true))
  }

  @Test("halves a batch that is too large, and sets a single row aside") func tooLarge() throws {
    var planner = try planner()
    #expect(
      try planner.answered(.tooLarge(refusal), batch(rows: 7), failures: 0, now: now, chance: 0)
        == (.shrink(to: 3, refusal), .goOn))
    #expect(
      try planner.answered(.tooLarge(refusal), batch(rows: 1), failures: 0, now: now, chance: 0)
        == (.quarantine(refusal), .goOn))
  }

  @Test("leaves a server that takes no row at all") func takesNothing() throws {
    var planner = try planner()
    let row = try batch(rows: 1)
    func answer(_ verdict: Verdict) -> TableUpload.Change {
      planner.answered(verdict, row, failures: 0, now: now, chance: 0).0
    }
    for _ in 1...2 { #expect(answer(.tooLarge(refusal)) == .quarantine(refusal)) }
    #expect(answer(.taken) == .acknowledge(removing: false))
    for _ in 1...3 { #expect(answer(.tooLarge(refusal)) == .quarantine(refusal)) }
    #expect(
      planner.answered(.tooLarge(refusal), row, failures: 0, now: now, chance: 0)
        == (.fail(refusal, notBefore: 0), .endTable))
  }

  @Test("tries a few times where the wait is short, and then leaves it to the next sync") func retries() throws {
    var planner = try planner()
    let batch = try batch()
    var answers: [TableUpload.Next] = []
    for failures in 0..<3 {
      let (change, next) = planner.answered(
        .later(after: nil, refusal), batch, failures: failures, now: now, chance: 1)
      let delay = 2 * (1 << failures)
      #expect(change == .fail(refusal, notBefore: now + Int64(delay * 1000)))
      answers.append(next)
    }
    #expect(answers == [.retry(after: 2), .retry(after: 4), .endTable])
  }

  @Test("does not wait inside a sync for what takes longer") func longWait() throws {
    var planner = try planner()
    let (change, next) = try planner.answered(
      .later(after: 60, refusal), batch(), failures: 0, now: now, chance: 0)
    #expect(change == .fail(refusal, notBefore: now + 60_000) && next == .endTable)
  }

  @Test("ends the sync where the other tables would fare no better, and otherwise the table") func ends() throws {
    var planner = try planner()
    let batch = try batch()
    #expect(planner.answered(.refused(refusal), batch, failures: 0, now: now, chance: 0).1 == .endTable)
    #expect(planner.answered(.refusedAll(refusal), batch, failures: 0, now: now, chance: 0).1 == .endSync)
    let unreachable = SyncError(.connectionFailed, "no")
    for _ in 1...2 { _ = planner.answered(unreachable.verdict, batch, failures: 0, now: now, chance: 0) }
    #expect(planner.answered(unreachable.verdict, batch, failures: 0, now: now, chance: 0).1 == .endSync)
    #expect(SyncError(.untrustedServer, "no").verdict == .refusedAll(SyncError(.untrustedServer, "no")))
  }
}

@Suite("The back-off") struct BackoffTests {
  @Test("doubles up to a cap, half of it by chance") func growth() {
    let backoff = Backoff(first: 2, longest: 60)
    #expect((1...7).map { backoff.delay(after: $0, asked: nil, chance: 1) } == [2, 4, 8, 16, 32, 60, 60])
    #expect((1...7).map { backoff.delay(after: $0, asked: nil, chance: 0) } == [1, 2, 4, 8, 16, 30, 30])
    #expect(backoff.delay(after: .max, asked: nil, chance: 7) == 60)
    #expect(backoff.delay(after: 0, asked: nil, chance: 1) == 2)
  }

  @Test("waits for what the server asks, up to a cap") func asked() {
    let backoff = Backoff(first: 2, longest: 60, longestAsked: 600)
    #expect(backoff.delay(after: 1, asked: 120, chance: 1) == 120)
    #expect(backoff.delay(after: 1, asked: 1e9, chance: 1) == 600)
    #expect(backoff.delay(after: 1, asked: 0, chance: 1) == 2)
  }
}
