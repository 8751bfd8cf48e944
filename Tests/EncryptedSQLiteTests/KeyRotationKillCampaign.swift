import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// Rotations that get SIGKILL: one of the two keys opens the file, every row is there, and running it again finishes.
@Suite(.enabled(if: FileRecorder.isAvailable, "there is no C compiler, or a sanitizer is on"))
struct KeyRotationKillCampaign {
  let folder = TemporaryFolder()
  let copy = TemporaryFolder()

  typealias Case = KeyRotationTests.Case

  /// In the suite every pair without a passphrase, whose derivation is slow on purpose, and some with one.
  static let cases = KeyRotationTests.cases.enumerated().filter { index, each in
    // A new key with a salt is a rewriting anyway.
    guard !each.isRewriting || each.new != KeyRotationTests.otherKeys[1] else { return false }
    return Campaign.isLong || !each.hasPassphrase || index % 17 == 9
  }.map(\.element)

  @Test(arguments: zip(cases, 1...cases.count)) func killed(_ each: Case, seed: Int) throws {
    try Campaign.run(keeping: folder, copy) { try kill(each, seed) }
  }

  @Test(
    "With a readable header both keys bring their salt, and the file is copied",
    .enabled(if: ReadableHeader.isAvailable, "it takes SQLCipher 4"), arguments: [true, false])
  func readableHeader(hasLog: Bool) throws {
    let each = Case(old: Keys.saltedText, new: KeyRotationTests.otherKeys[1], hasLog: hasLog, isRewriting: false)
    try Campaign.run(keeping: folder, copy) { try kill(each, 77, hasReadableHeader: true) }
  }

  private func kill(_ each: Case, _ seed: Int, hasReadableHeader: Bool = false) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let store = try RotatedStore(
      from: each.old, to: each.new, hasLog: each.hasLog, hasReadableHeader: hasReadableHeader)
    let arguments = store.arguments(in: folder, isRewriting: each.isRewriting)
    let operations = try #require(Self.operations[each.hasLog]?[each.isCopied])
    var seconds: Double?
    var outcomes: [RotatedStore.Force: Int] = [:]
    let count = each.hasPassphrase ? Campaign.count(10) / 10 : Campaign.count(hasReadableHeader ? 12 : 3)
    for round in 0..<count {
      try store.restore(in: folder)
      let place = (Double(round) + Double.random(in: 0..<1, using: &random)) / Double(count)
      let comment: Comment
      // Between two operations on the files nothing changes that a kill leaves, but for what is in shared memory: so at
      // an operation, and now and then at a time.
      if round % 4 < 3 {
        let number = 1 + Int(place * Double(operations))
        comment = "round \(round), operation \(number) of \(operations)"
        let killed = try FileRecorder.run(Program.helper, arguments, folder: folder.path, .kill(at: number)).result
        try #require(killed.status == SIGKILL && killed.output.isEmpty, comment)
      } else {
        let whole = try seconds ?? measure(arguments)
        seconds = whole
        try store.restore(in: folder)
        comment = "round \(round), after \(whole * place) s"
        let running = try Program.start(Program.helper, arguments)
        usleep(UInt32(whole * 1_000_000 * place))
        running.kill()
        _ = running.finish()
      }
      // On a copy, for looking rolls back what the kill left, and the rotation has to do that too.
      try copy.copyContents(of: folder)
      outcomes[try store.force(in: copy, tryingNewFirst: Bool.random(using: &random), comment), default: 0] += 1
      let again = try Program.run(Program.helper, arguments)
      try #require([["rotated", "ok"], ["done", "ok"]].contains(again.lines), comment)
      try store.requireRotated(in: folder, comment)
    }
    Campaign.report("\(count) kills, \(each.testDescription): \(RotatedStore.text(outcomes))")
  }

  /// How many operations a rotation takes, with a log or not, rewriting or not; the keys make no difference.
  static let operations: [Bool: [Bool: Int]] = Dictionary(
    uniqueKeysWithValues: [true, false].map { hasLog in
      (hasLog, Dictionary(uniqueKeysWithValues: [true, false].map { ($0, (try? count(hasLog, $0)) ?? 0) }))
    })

  private static func count(_ hasLog: Bool, _ isRewriting: Bool) throws -> Int {
    let folder = TemporaryFolder()
    let store = try RotatedStore(from: Keys.rawText, to: KeyRotationTests.otherKeys[0], hasLog: hasLog)
    try store.restore(in: folder)
    let arguments = store.arguments(in: folder, isRewriting: isRewriting)
    let (result, recording) = try FileRecorder.run(Program.helper, arguments, folder: folder.path)
    #expect(result.lines == ["rotated", "ok"])
    return recording.count
  }

  /// The seconds that a whole run takes.
  private func measure(_ arguments: [String]) throws -> Double {
    let start = Date()
    try #require(try Program.run(Program.helper, arguments).lines == ["rotated", "ok"])
    return Date().timeIntervalSince(start)
  }
}
