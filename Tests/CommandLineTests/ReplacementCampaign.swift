import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// All commands on one store at once, in random order: rotations of every kind, restores, wipes, writers and readers.
///
/// After each round one key alone opens the store, the store verifies, and each push is in it whose `record` was
/// acknowledged, unless a restore or a wipe that ended later took it away.
@Suite struct ReplacementCampaign: Sendable {
  private static let keyCount = 4
  private static let commandsInRound = 14

  private struct Recorded {
    let identifier: String
    let start: Date
  }

  /// What the processes of a round came to.
  private struct Log {
    var recorded: [Recorded] = []
    /// When the last command ended that takes records away.
    var lastErasure = Date.distantPast
    var replacements = 0
    var unexpected: [String] = []
  }

  private let study = Study()

  private func keyFile(_ number: Int) -> String { study.folder.path("key\(number)") }

  private func makeKeys() {
    for number in 0..<Self.keyCount {
      // The last brings a salt, so that a rotation to it goes through a copy.
      let digits = String(repeating: "\(number + 1)", count: number == Self.keyCount - 1 ? 96 : 64)
      _ = study.folder.write("key\(number)", "x'\(digits)'\n")
    }
  }

  private func run(_ command: String, _ key: Int, _ rest: [String], input: String = "") throws -> Program.Result {
    try Program.run(
      Program.tool, [command, "--db", study.database, "--key-file", keyFile(key)] + rest, input: input,
      folder: study.folder.path)
  }

  /// The errors that a command may end with while others replace the store.
  private static let expectedErrors = [
    "does not open with this key", "no longer opens with the key", "is in use by another", "another process replaces",
    "no longer reads under the key", "the new key is the old one", "another file is at",
  ]

  /// One command of the round, chosen and timed by `generator`.
  private func step(_ name: String, _ generator: inout SeededGenerator, _ log: Locked<Log>, _ mayErase: Bool) throws {
    let key = Int.random(in: 0..<Self.keyCount, using: &generator)
    let other = Int.random(in: 0..<Self.keyCount, using: &generator)
    usleep(UInt32.random(in: 0..<30_000, using: &generator))
    let start = Date()
    var erases = false
    let result: Program.Result
    switch Int.random(in: 0..<(mayErase ? 12 : 10), using: &generator) {
    case 0...3:
      let push = #"{"id":"\#(name)","payload":{"aps":{"alert":"text"}}}"# + "\n"
      result = try run("record", key, [], input: push)
      if result.status == 0 { log.withLock { $0.recorded.append(Recorded(identifier: name, start: start)) } }
    case 4: result = try run("rotate-key", key, ["--new-key-file", keyFile(other)])
    case 5...6: result = try run("rotate-key", key, ["--new-key-file", keyFile(other), "--rewrite"])
    case 7: result = try run("verify", key, [])
    case 8: result = try run("status", key, [])
    case 9: result = try run("migrate", key, Connection.librarySupportsReadableHeaders ? ["--cipher"] : [])
    case 10:
      result = try run(
        "restore", key, ["--from", study.folder.path("backup.db"), "--backup-key-file", keyFile(0)])
    default:
      result = try run("wipe", key, ["--yes"])
      // One that another process kept from emptying the WAL has removed the rows all the same.
      erases = !result.errors.contains("does not open with this key")
    }
    log.withLock { log in
      if erases || result.output.contains("restored") { log.lastErasure = max(log.lastErasure, Date()) }
      if result.output.contains("rotated") || result.output.contains("restored") { log.replacements += 1 }
      // What verify meets is in its output.
      let text = result.errors + result.output
      let isExpected = result.status == 0 || Self.expectedErrors.contains { text.contains($0) }
      if !isExpected { log.unexpected.append("\(result.status) \(result.output) \(result.errors)") }
    }
  }

  @Test("Each acknowledged push is in the store that the one key opens", .timeLimit(.minutes(300)))
  func allAtOnce() throws {
    var total = Log()
    let rounds = Campaign.count(3)
    for round in 0..<rounds {
      try Campaign.run(keeping: study.folder) {
        for name in study.folder.names { try FileManager.default.removeItem(atPath: study.folder.path(name)) }
        makeKeys()
        try #require(try run("record", 0, [], input: Study.pushes(50)).status == 0)
        try #require(try run("backup", 0, ["--output", study.folder.path("backup.db")]).status == 0)
        let log = Locked(Log())
        let mayErase = round % 2 == 1
        let failures = Locked<[any Error]>([])
        let lanes = DispatchGroup()
        for lane in 0..<4 {
          lanes.enter()
          Thread.detachNewThread {
            var generator = SeededGenerator(seed: UInt64(round * 10 + lane))
            do {
              for number in 0..<Self.commandsInRound {
                try self.step("\(round)-\(lane)-\(number)", &generator, log, mayErase)
              }
            } catch {
              failures.withLock { $0.append(error) }
            }
            lanes.leave()
          }
        }
        lanes.wait()
        let result = log.snapshot
        try #require(failures.snapshot.isEmpty && result.unexpected.isEmpty, "round \(round): \(result.unexpected)")
        let opening = try (0..<Self.keyCount).filter { try run("status", $0, []).status == 0 }
        try #require(opening.count == 1, "round \(round): \(opening.count) keys open the store")
        let verified = try run("verify", opening[0], [])
        try #require(verified.status == 0, "round \(round): \(verified.output)")
        let held = try run("export", opening[0], []).output
        for push in result.recorded where push.start > result.lastErasure {
          try #require(held.contains(#""notificationId":"\#(push.identifier)""#), "round \(round): \(push) is lost")
        }
        // Where a reader was the last to close, the WAL stays until the next writer.
        try #require(try run("migrate", opening[0], []).status == 0)
        let left = study.folder.names.filter { !$0.hasPrefix("key") }
        try #require(left == ["backup.db", "study.db"], "round \(round): \(left)")
        total.replacements += result.replacements
        total.recorded += result.recorded
      }
    }
    #expect(total.replacements > 0 && !total.recorded.isEmpty, "the campaign proved nothing")
    Campaign.report(
      "\(rounds) rounds of \(4 * Self.commandsInRound) commands, \(total.replacements) rotations and restores, "
        + "\(total.recorded.count) pushes acknowledged: none lost")
  }
}
