import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// Backups, restorings and upgrades that are killed, or whose power fails: never neither file, never half of one, and
/// nothing is left over once they are run again.
@Suite(.enabled(if: FileRecorder.isAvailable, "there is no C compiler, or a sanitizer is on"))
struct CopyCampaign {
  enum Work: String, CaseIterable, Sendable {
    case backup
    case restore
    case restoreAnew
    case upgrade
  }

  static let works = Work.allCases.filter {
    $0 != .upgrade || ((try? Connection.libraryVersion()) ?? "").hasPrefix("4")
  }

  private let folder = TemporaryFolder()
  private let copy = TemporaryFolder()
  private let original = TemporaryFolder()
  private let keys = TemporaryFolder()

  // MARK: The files

  private func make(_ work: Work) throws {
    if work == .upgrade {
      let raw = RawSQLite(
        original.path("store.db"), key: try Keys.raw,
        settings: "PRAGMA cipher_compatibility = 3; PRAGMA journal_mode = WAL;")
      #expect(raw.execute(SmallStore.schema + ";" + SmallStore.noise) == 0)
    } else {
      try SmallStore.make(original.path("source.db"), Keys.raw)
      #expect(RawSQLite(original.path("source.db"), key: try Keys.raw).execute(SmallStore.noise) == 0)
      if work == .restore { try SmallStore.make(original.path("store.db"), Keys.raw, ["older"]) }
    }
    _ = keys.write("key", Keys.rawText)
  }

  private func arguments(_ work: Work) -> [String] {
    let store = folder.path("store.db")
    let source = folder.path("source.db")
    switch work {
    case .backup: return ["backup", source, keys.path("key"), store]
    case .restore, .restoreAnew: return ["restore", store, keys.path("key"), source]
    case .upgrade: return ["upgrade", store, keys.path("key")]
    }
  }

  /// What is in `folder`, looked at in a copy, is complete: the work was done, or was not.
  ///
  /// - Returns: whether it was done.
  private func isDone(_ work: Work, _ place: Comment) throws -> Bool {
    try copy.copyContents(of: folder)
    let path = copy.path("store.db")
    let wanted: [String]
    if work == .upgrade {
      wanted = []
    } else {
      wanted = try SmallStore.texts(copy.path("source.db"), Keys.raw)
      try #require(wanted.count == 402, place)
    }
    guard FileManager.default.fileExists(atPath: path) else {
      try #require(work == .backup || work == .restoreAnew, place)
      return false
    }
    let connection = try Connection.open(path, key: Keys.raw)
    defer { try? connection.close() }
    let texts = try SmallStore.texts(connection)
    try #require(try connection.integrityFaults() == [], place)
    switch work {
    case .upgrade:
      try #require(texts.count == 400, place)
      return !connection.cipher.isOlderThanLibrary
    case .restore where texts == ["older"]: return false
    default:
      try #require(texts == wanted, place)
      return true
    }
  }

  private func runAgain(_ work: Work, _ place: Comment) throws {
    // A backup goes to a place where nothing is.
    if work == .backup || work == .restoreAnew { unlink(folder.path("store.db")) }
    let again = try Program.run(Program.helper, arguments(work))
    try #require(again.lines == ["ok"], place)
    try #require(try isDone(work, place), place)
    let names = folder.names.filter { !$0.hasSuffix("-shm") && FileSystem.size(folder.path($0)) > 0 }
    try #require(names == (work == .upgrade ? ["store.db"] : ["source.db", "store.db"]), place)
  }

  // MARK: Campaigns

  @Test(arguments: works) func killed(_ work: Work) throws {
    try Campaign.run(keeping: folder, copy) {
      try make(work)
      try folder.copyContents(of: original)
      let (result, recording) = try FileRecorder.run(Program.helper, arguments(work), folder: folder.path)
      try #require(result.lines == ["ok"])
      var random = SeededGenerator(seed: 7)
      let count = Campaign.count(8)
      var done = 0
      for round in 0..<count {
        try folder.copyContents(of: original)
        let part = (Double(round) + Double.random(in: 0..<1, using: &random)) / Double(count)
        let number = 1 + Int(part * Double(recording.count))
        let place: Comment = "operation \(number) of \(recording.count)"
        let killed = try FileRecorder.run(Program.helper, arguments(work), folder: folder.path, .kill(at: number))
          .result
        try #require(killed.status == SIGKILL && killed.output.isEmpty, place)
        if try isDone(work, place) { done += 1 }
        try runAgain(work, place)
      }
      Campaign.report("\(count) kills, \(work.rawValue): \(done) done")
    }
  }

  @Test(arguments: works) func powerCut(_ work: Work) throws {
    try Campaign.run(keeping: folder, copy) {
      try make(work)
      try folder.copyContents(of: original)
      var disk = RecordedDisk(folder)
      let (result, recording) = try FileRecorder.run(Program.helper, arguments(work), folder: folder.path)
      try #require(result.lines == ["ok"])
      var random = SeededGenerator(seed: 11)
      let cuts = Campaign.count(15)
      var done = 0
      let isSaid = try disk.cutPower(cuts, during: recording, into: folder, using: &random) { isSaid, place, _ in
        let place = Comment(rawValue: place)
        let isComplete = try isDone(work, place)
        done += isComplete ? 1 : 0
        try #require(!isSaid || isComplete, place)
        try runAgain(work, place)
      }
      try #require(isSaid)
      Campaign.report("\(cuts) power cuts, \(work.rawValue): \(done) done")
    }
  }
}
