import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// What a rotation has said is true after a power cut, or after every process was killed: also where a sync failed, and where
/// a second run found the work of a first one that was killed.
@Suite(.enabled(if: FileRecorder.isAvailable, "there is no C compiler, or a sanitizer is on"))
struct KeyRotationDurabilityCampaign {
  private let folder = TemporaryFolder()
  private let copy = TemporaryFolder()

  private static let holding = "INSERT INTO item (text) VALUES ('held'); BEGIN; SELECT count(*) FROM item"

  @Test("A sync that fails alone: the old key stays in force where it was said, though no process ever writes again")
  func failedSync() throws {
    try Campaign.run(keeping: folder) {
      let store = try RotatedStore(from: Keys.rawText, to: KeyRotationTests.otherKeys[0])
      // The reader keeps the WAL from being emptied, however long that is waited for.
      let arguments = store.arguments(in: folder, isRewriting: false) + ["--wait=0.1"]
      /// With another process that reads from the WAL, which keeps its frames then, and is killed in the end.
      func run(_ interruption: FileRecorder.Interruption?) throws -> (result: Program.Result, recording: FileRecording)
      {
        try store.restore(in: folder)
        let holder = try Program.start(
          Program.helper, ["keep", folder.path(RotatedStore.name), arguments[2], Self.holding])
        try #require(holder.waitForLine("keeping"))
        let run = try FileRecorder.run(Program.helper, arguments, folder: folder.path, interruption)
        holder.kill()
        _ = holder.finish()
        return run
      }
      let (whole, recording) = try run(nil)
      try #require(whole.lines == ["rotated", "ok"])
      let syncs = recording.numbersBeforeOutput {
        switch $0 {
        case .sync, .syncFolder: true
        default: false
        }
      }
      var outcomes: [String: Int] = [:]
      // More than one, too: what failed may be tried again.
      for (number, count) in syncs.flatMap({ number in (1...(Campaign.isLong ? 2 : 1)).map { (number, $0) } }) {
        let place: Comment = "\(count) syncs from operation \(number)"
        let outcome = try #require(try run(.failingSyncs(from: number, count: count)).result.lines.first)
        outcomes[outcome, default: 0] += 1
        let force = try store.force(in: folder, having: ["held"], place)
        switch outcome {
        case "rotated": try #require(force == .new, place)
        case "rotationUnconfirmed": break
        default:
          try #require(
            ["inputOutput", "rotationFailed"].contains(outcome) && force == .old, "\(place): \(outcome), \(force)")
        }
      }
      try #require(outcomes.keys.contains { !["rotated", "rotationUnconfirmed"].contains($0) }, "\(outcomes)")
      Campaign.report("\(syncs.count) failed syncs: \(outcomes)")
    }
  }

  @Test("A second run, after one that was killed before or at a sync, says nothing that a power cut takes back")
  func secondRun() throws {
    try Campaign.run(keeping: folder, copy) {
      var random = SeededGenerator(seed: 31)
      for hasLog in [true, false] {
        let store = try RotatedStore(from: Keys.rawText, to: KeyRotationTests.otherKeys[0], hasLog: hasLog)
        let arguments = store.arguments(in: folder, isRewriting: false)
        try store.restore(in: folder)
        let (whole, recording) = try FileRecorder.run(Program.helper, arguments, folder: folder.path)
        try #require(whole.lines == ["rotated", "ok"])
        let places = recording.numbersBeforeOutput {
          switch $0 {
          case .sync, .syncFolder, .unlink, .truncate: true
          default: false
          }
        }
        var done = 0
        for number in places {
          let place: Comment = "\(hasLog ? "WAL" : "journal"), operation \(number)"
          try store.restore(in: folder)
          var disk = RecordedDisk(folder)
          let first = try FileRecorder.run(Program.helper, arguments, folder: folder.path, .kill(at: number))
          try #require(first.result.status == SIGKILL, place)
          let second = try FileRecorder.run(Program.helper, arguments, folder: folder.path)
          try #require(["rotated", "done"].contains(second.result.lines.first), place)
          done += second.result.lines[0] == "done" ? 1 : 0
          for operation in first.recording.operations { disk.apply(operation) }
          for operation in second.recording.operations {
            disk.apply(operation)
            if case .said = operation { break }
          }
          for fate in RecordedDisk.Fate.allCases {
            try disk.cutPower(fate, into: copy, using: &random)
            try #require(try store.force(in: copy, tryingNewFirst: true, place) == .new, "\(place), \(fate)")
          }
        }
        try #require(done > 0)
        Campaign.report("\(places.count) second runs, \(hasLog ? "WAL" : "journal"): \(done) found it done")
      }
    }
  }

  @Test("Run again while a connection reads, it says that the WAL is not emptied")
  func reportWhileReading() throws {
    let path = folder.path("store")
    try SmallStore.make(path, Keys.raw)
    let new = try EncryptionKey(KeyRotationTests.otherKeys[0])
    let reader = try Connection.open(path, key: Keys.raw, options: .init(access: .readOnly))
    try reader.execute("BEGIN; SELECT count(*) FROM item")
    for wasDone in [false, true] {
      let report = try Database.rotateEncryptionKey(of: path, from: Keys.raw, to: new, busyTimeout: 0)
      #expect(report.wasDone == wasDone && !report.isLogFoldedIn)
    }
    try reader.execute("COMMIT")
    try reader.close()
    #expect(try Database.rotateEncryptionKey(of: path, from: Keys.raw, to: new).isLogFoldedIn)
  }
}
