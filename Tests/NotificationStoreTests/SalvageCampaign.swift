import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// Salvages that are killed, or whose power fails: the new store is complete or not there, the damaged one is never
/// changed, and nothing is left over once they are run again.
@Suite(.enabled(if: FileRecorder.isAvailable, "there is no C compiler, or a sanitizer is on"))
struct SalvageCampaign {
  private static let secret = "a secret that is in every row"
  private let folder = TemporaryFolder()
  private let copy = TemporaryFolder()
  private let original = TemporaryFolder()
  private let keys = TemporaryFolder()
  private let damaged: [String: Data]
  private let wanted: [String]
  private let recording: FileRecording

  private var arguments: [String] { ["salvage", folder.path("saved.db"), keys.path("key"), folder.path("damaged.db")] }

  /// A damaged store with rows in its log, and a salvage of it that nothing interrupts.
  init() throws {
    _ = keys.write("key", Keys.rawText)
    let path = folder.path("damaged.db")
    let sample = try SampleStore(path, key: Keys.raw, pages: 60)
    let store = try NotificationStore(.init(path: path, key: Keys.raw))
    try store.silentPushes.insert((0..<30).map { SilentPushData(payload: "\($0) \(Self.secret)") })
    for name in ["damaged.db", "damaged.db-wal"] {
      try FileManager.default.copyItem(atPath: folder.path(name), toPath: original.path(name))
    }
    try store.close()
    for page in [20, 30, 31, 45] {
      try Damage.flipBit(original.path("damaged.db"), at: sample.offset(of: page) + 20)
    }
    damaged = original.contents
    try folder.copyContents(of: original)
    let result: Program.Result
    (result, recording) = try FileRecorder.run(
      Program.helper, ["salvage", folder.path("saved.db"), keys.path("key"), path], folder: folder.path)
    try #require(result.lines == ["ok"])
    wanted = try Self.rows(folder.path("saved.db"))
    try #require(wanted.count { $0.contains(Self.secret) } == 30)
    try folder.copyContents(of: original)
  }

  /// Every row of the store at `path`, which is sound.
  private static func rows(_ path: String) throws -> [String] {
    #expect(try StoreVerification(path: path, key: Keys.raw).isSound)
    let connection = try Connection.open(path, key: Keys.raw, options: .init(access: .readOnly))
    var rows: [String] = []
    for table in NotificationStore.tables + ["delivery_receipt", "upload_ledger", "store_property", "sqlite_sequence"] {
      try connection.forEachRow("SELECT * FROM \(table) ORDER BY 1") { row in
        rows.append((0..<row.columnCount).map { row.string(at: $0) }.joined(separator: "|"))
      }
    }
    try connection.close()
    return rows
  }

  /// What is in `folder`, looked at in a copy: the damaged store as it was, and all of the new one or nothing.
  ///
  /// - Returns: whether the new one is there.
  private func isDone(_ place: Comment) throws -> Bool {
    try #require(folder.contents.filter { damaged.keys.contains($0.key) } == damaged, place)
    try copy.copyContents(of: folder)
    guard copy.names.contains("saved.db") else { return false }
    try #require(try Self.rows(copy.path("saved.db")) == wanted, place)
    return true
  }

  private func runAgain(_ place: Comment) throws {
    // It goes to a place where nothing is.
    unlink(folder.path("saved.db"))
    let again = try Program.run(Program.helper, arguments)
    try #require(again.lines == ["ok"], place)
    try #require(try isDone(place), place)
    try #require(folder.names == damaged.keys.sorted() + ["saved.db"], place)
  }

  @Test func killed() throws {
    try Campaign.run(keeping: folder, copy) {
      var random = SeededGenerator(seed: 13)
      let count = Campaign.count(8)
      var done = 0
      for round in 0..<count {
        try folder.copyContents(of: original)
        let part = (Double(round) + Double.random(in: 0..<1, using: &random)) / Double(count)
        let number = 1 + Int(part * Double(recording.count))
        let place: Comment = "operation \(number) of \(recording.count)"
        let killed = try FileRecorder.run(Program.helper, arguments, folder: folder.path, .kill(at: number)).result
        try #require(killed.status == SIGKILL && killed.output.isEmpty, place)
        if try isDone(place) { done += 1 }
        try runAgain(place)
      }
      Campaign.report("\(count) kills of a salvage: \(done) done")
    }
  }

  @Test func powerCut() throws {
    try Campaign.run(keeping: folder, copy) {
      var disk = RecordedDisk(folder)
      var random = SeededGenerator(seed: 17)
      let cuts = Campaign.count(15)
      var done = 0
      let isSaid = try disk.cutPower(cuts, during: recording, into: folder, using: &random) { isSaid, place, _ in
        let place = Comment(rawValue: place)
        let isComplete = try isDone(place)
        done += isComplete ? 1 : 0
        try #require(!isSaid || isComplete, place)
        try runAgain(place)
      }
      try #require(isSaid)
      Campaign.report("\(cuts) power cuts of a salvage: \(done) done")
    }
  }

  @Test func noPlaintext() {
    let marks = [Self.secret, "SQLite format 3", "ios_silent_push"].map { Data($0.utf8) }
    var written = 0
    for case .write(_, _, let bytes) in recording.operations {
      written += bytes.count
      for mark in marks { #expect(Data(bytes).range(of: mark) == nil) }
    }
    #expect(written > 60 * 1024)
  }

  @Test func fullAndBrokenDisk() throws {
    try Campaign.run(keeping: folder, copy) {
      var random = SeededGenerator(seed: 19)
      let count = Campaign.count(6)
      for round in 0..<count {
        try folder.copyContents(of: original)
        let number = 1 + Int.random(in: 0..<recording.countBeforeOutput, using: &random)
        let fault: FileRecorder.Interruption = round % 2 == 0 ? .fullDisk(from: number) : .brokenDisk(from: number)
        let place: Comment = "\(fault)"
        let result = try FileRecorder.run(Program.helper, arguments, folder: folder.path, fault).result
        // Removing names is not refused by a full disk, and may be all that was left to do.
        try #require([0, 1].contains(result.status), place)
        try #require(try isDone(place) || result.status == 1, place)
        try runAgain(place)
      }
      Campaign.report("\(count) salvages on a full or a broken disk")
    }
  }
}
