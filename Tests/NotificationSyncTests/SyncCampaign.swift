import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import NotificationSync

/// Syncs killed at any moment, each by the next one gone on with.
@Suite struct SyncCampaign {
  private static let batchSize = 100

  @Test("Syncs killed at random: the receiver ends with each row once, and nothing is lost", arguments: [false, true])
  func killed(_ isRemoving: Bool) throws {
    let bench = try SyncBench()
    let receiver = try bench.receiver()
    let kills = Campaign.count(10)
    let rows = kills >= 100 ? 20_000 : 2000
    var random = SeededGenerator(seed: isRemoving ? 2 : 1)
    var total = 0
    var outcomes: [String: Int] = [:]
    func add(_ count: Int) throws {
      let store = try NotificationStore(bench.store.configuration)
      bench.store = store
      try bench.add(count)
      try store.close()
      total += count
    }
    try bench.store.close()
    try Campaign.run(keeping: bench.folder) {
      try add(rows)
      let options = ["batch=\(Self.batchSize)", "lease=0.05"] + (isRemoving ? ["remove"] : [])
      let arguments = bench.helperArguments() + options
      var killed = 0
      while killed < kills {
        let running = try Program.start(Program.helper, arguments)
        // At any moment of its start, or of one of the first batches.
        if killed % 4 > 0 {
          let line = "ios_notification: \(Self.batchSize) rows were taken"
          try #require(running.waitForLine(line) || running.finish().lines.last == "ok", "kill \(killed)")
        }
        usleep(.random(in: 0...50_000, using: &random))
        running.kill()
        let result = running.finish()
        if result.status == SIGKILL { killed += 1 }
        let verification = try StoreVerification(path: bench.path, key: Keys.raw)
        try #require(verification.isSound, "kill \(killed): \(verification.checks.flatMap(\.faults))")
        let state = try look(bench).state
        outcomes[state.batch == nil ? "no batch on its way" : "a batch on its way", default: 0] += 1
        // What counts as sent is there.
        let stored = receiver.rows(in: SyncBench.notifications)
        try #require(stored >= state.sentThroughId, "kill \(killed): \(stored) of \(state.sentThroughId)")
        if state.sentThroughId == Int64(total) { try add(500) }
        usleep(60_000)
      }
      try #require(try Program.run(Program.helper, arguments).lines.last == "ok")
      let end = try look(bench)
      try #require(end.pending == 0 && end.state.batch == nil && end.count == (isRemoving ? 0 : total))
      try #require(receiver.rows(in: SyncBench.notifications) == total)
      try #require(receiver.distinctRecordIds(in: SyncBench.notifications) == total)
    }
    Campaign.report("\(kills) kills of syncs of \(total) rows, \(isRemoving ? "removing" : "keeping"): \(outcomes)")
  }

  private func look(_ bench: SyncBench) throws -> (state: UploadState, pending: Int, count: Int) {
    let connection = try Connection.open(bench.path, key: Keys.raw, options: .init(access: .readOnly))
    defer { try? connection.close() }
    let ledger = UploadLedger(SyncBench.notifications, connection)
    let count = try connection.integer("SELECT count(*) FROM ios_notification") ?? 0
    return (try ledger.state(), try ledger.pending(), Int(count))
  }
}
