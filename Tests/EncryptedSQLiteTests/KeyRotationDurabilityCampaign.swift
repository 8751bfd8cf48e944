import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// What a rotation has said is true after a power cut, also where a second run found the work of a first one that was
/// killed.
@Suite(.enabled(if: FileRecorder.isAvailable, "there is no C compiler, or a sanitizer is on"))
struct KeyRotationDurabilityCampaign {
  private let folder = TemporaryFolder()
  private let copy = TemporaryFolder()

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
