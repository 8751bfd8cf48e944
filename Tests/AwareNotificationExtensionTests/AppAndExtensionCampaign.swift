import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// An app and its service extension, two processes on one store, both killed again and again.
@Suite("App and extension on one store") struct AppAndExtensionCampaign {
  /// One of the two, started again after the last push that it said was safe.
  private final class Side {
    let command: String
    let last: Int
    private(set) var next: Int
    private(set) var running: Program.Running?
    private(set) var failures: [String] = []

    init(_ command: String, _ range: Range<Int>) {
      self.command = command
      (next, last) = (range.lowerBound, range.upperBound)
    }

    var isDone: Bool { next >= last }

    func start(_ store: String, _ keyFile: String) throws {
      guard !isDone else { return }
      running = try Program.start(Program.helper, [command, store, keyFile, "\(next)", "\(last)"])
    }

    /// Takes what it says of the pushes that are safe.
    func stop(killing: Bool) {
      guard let running else { return }
      if killing { running.kill() }
      let result = running.finish()
      for line in result.lines {
        let words = line.split(separator: " ")
        if words.first == "safe", let number = Int(words[1]) { next = max(next, number) }
        if words.first == "failed" { failures.append(line) }
      }
      self.running = nil
    }
  }

  @Test("Each push is one row, whoever got it, and however often both are killed") func campaign() throws {
    let folder = TemporaryFolder()
    try Campaign.run(keeping: folder) {
      let pushes = Campaign.isLong ? 10_000 : 240
      let kills = Campaign.count(6)
      let path = folder.path("store")
      let keyFile = folder.write("key", Keys.rawText)
      try NotificationStore(.init(path: path, key: try Keys.raw)).close()
      // Each gets a third alone, and the middle comes to both.
      let sides = [Side("app", 0..<2 * pushes / 3), Side("extension", pushes / 3..<pushes)]
      var generator = SeededGenerator(seed: 11)
      var rounds = 0
      while sides.contains(where: { !$0.isDone }) {
        for side in sides { try side.start(path, keyFile) }
        let killing = rounds < kills
        if killing { usleep(.random(in: 5000..<(Campaign.isLong ? 2_000_000 : 400_000), using: &generator)) }
        for side in sides.shuffled(using: &generator) { side.stop(killing: killing) }
        rounds += 1
        try #require(rounds < kills + 20, "the two do not come to their end")
      }
      let store = try NotificationStore(.init(path: path, key: try Keys.raw))
      let identifiers = try store.notifications.page(limit: pushes + 100).map(\.notificationId)
      #expect(identifiers.count == pushes)
      try #require(Set(identifiers) == Set((0..<pushes).map { "push-\($0)" }))
      #expect(store.spool.faults.isEmpty)
      try store.close()
      let verification = try StoreVerification(path: path, key: try Keys.raw)
      try #require(verification.isSound)
      #expect(sides.flatMap(\.failures) == [])
      Campaign.report("\(pushes) pushes, \(min(kills, rounds)) kills of both, no loss")
    }
  }
}
