import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// Imports of a plaintext store whose power fails: every record is in the plaintext or in the encrypted store, and in the
/// encrypted one alone once the import has said that it is done.
@Suite(.enabled(if: FileRecorder.isAvailable, "there is no C compiler, or a sanitizer is on"))
struct AdoptionPowerCutCampaign {
  private let folder = TemporaryFolder()
  private let copy = TemporaryFolder()
  private let original = TemporaryFolder()
  private let keys = TemporaryFolder()

  private func arguments(_ name: String, in folder: TemporaryFolder) -> [String] {
    ["adopt", folder.path("store.db"), keys.path("key"), "", folder.path(name)]
  }

  /// Every record is in the store `name` in `folder`, which is sound, and nothing of the plaintext is left.
  private func requireImported(_ name: String, in folder: TemporaryFolder, _ place: Comment) throws {
    let store = try NotificationStore(.init(path: folder.path(name), key: Keys.raw, access: .readOnly))
    let counts = [try store.notifications.count(), try store.tokens.count(), try store.silentPushes.count()]
    let isLast = try store.notifications.page(after: 300, limit: 99).contains { $0.title == "Saturday 300" }
    try store.close()
    try #require(counts == [304, 1, 1] && isLast, "\(place): \(counts)")
    try #require(try StoreVerification(path: folder.path(name), key: Keys.raw).isSound, place)
    try #require(PublicSensor.plaintext(in: folder.contents) == [], place)
    // What the disk kept of a copy without its marker is nobody's to remove; a lock's file is empty.
    let names = folder.names.filter { other in
      !other.hasPrefix(name + ".new-") && !["-wal", "-shm", ".lock"].contains(where: other.hasSuffix)
    }
    try #require(names == [name], "\(place): \(names)")
  }

  @Test("In place, and into another path", arguments: zip(["store.db", "new.db"], [21, 22]))
  func powerCut(name: String, seed: Int) throws {
    try Campaign.run(keeping: folder, copy) {
      try PublicSensor.make(original.path("store.db"), isKilled: true, PublicSensor.rows(300))
      _ = keys.write("key", Keys.rawText)
      try folder.copyContents(of: original)
      var disk = RecordedDisk(folder)
      let (result, recording) = try FileRecorder.run(Program.helper, arguments(name, in: folder), folder: folder.path)
      try #require(result.lines == ["adopted", "ok"])
      var random = SeededGenerator(seed: UInt64(seed))
      let fates = Campaign.isLong ? RecordedDisk.Fate.allCases : [.noneIsThere]
      let stride = Campaign.isLong ? 20 : 200
      var (cuts, isSaid) = (0, false)
      var words: [String: Int] = [:]
      for (number, operation) in recording.operations.enumerated() {
        disk.apply(operation)
        switch operation {
        // Between two of these nothing becomes sure.
        case .sync, .syncFolder, .rename, .link, .unlink, .truncate: break
        case .said: isSaid = true
        default: if number % stride != 0 { continue }
        }
        for fate in fates {
          let place: Comment = "after \(number) of \(recording.operations.count), \(fate)"
          try disk.cutPower(fate, into: folder, using: &random)
          if isSaid { try requireImported(name, in: folder, place) }
          let again = try Program.run(Program.helper, arguments(name, in: folder))
          try #require(again.lines.last == "ok", "\(place): \(again.output)")
          words[again.lines[0], default: 0] += 1
          try requireImported(name, in: folder, place)
          cuts += 1
        }
      }
      try #require(isSaid && words["adopted", default: 0] > 0 && words["nothing", default: 0] > 0, "\(words)")
      Campaign.report("\(cuts) power cuts, import to \(name): \(words)")
    }
  }
}
