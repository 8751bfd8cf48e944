import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// Rotations whose power fails: one of the two keys opens the file, every row is there; only the new one, once the
/// rotation has said that it is done.
@Suite(.enabled(if: FileRecorder.isAvailable, "there is no C compiler, or a sanitizer is on"))
struct KeyRotationPowerCutCampaign {
  let folder = TemporaryFolder()
  let copy = TemporaryFolder()

  struct Mode: Sendable, CustomTestStringConvertible {
    let isRewriting: Bool
    let hasLog: Bool
    var isLarge = false
    var testDescription: String {
      "\(isRewriting ? "rewrite" : "in place"), \(hasLog ? "log" : "journal")\(isLarge ? ", larger than the cache" : "")"
    }
  }

  /// In the suite the quick ones.
  static let modes = [
    Mode(isRewriting: false, hasLog: true), Mode(isRewriting: false, hasLog: false),
    Mode(isRewriting: true, hasLog: true), Mode(isRewriting: true, hasLog: false),
    Mode(isRewriting: false, hasLog: true, isLarge: true), Mode(isRewriting: false, hasLog: false, isLarge: true),
  ].filter { Campaign.isLong || !$0.isLarge }

  @Test(arguments: zip(modes, 1...modes.count)) func cut(_ mode: Mode, seed: Int) throws {
    try Campaign.run(keeping: folder, copy) { try cutPower(mode, seed) }
  }

  private func cutPower(_ mode: Mode, _ seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let store = try RotatedStore(
      from: Keys.rawText, to: KeyRotationTests.otherKeys[0], hasLog: mode.hasLog, isLarge: mode.isLarge)
    try store.restore(in: folder)
    var disk = RecordedDisk(folder)
    let (result, recording) = try FileRecorder.run(
      Program.helper, store.arguments(in: folder, isRewriting: mode.isRewriting), folder: folder.path)
    try #require(result.lines == ["rotated", "ok"])
    let cuts = Campaign.count(25)
    var outcomes: [RotatedStore.Force: Int] = [:]
    let isSaid = try disk.cutPower(cuts, during: recording, into: folder, using: &random) { isSaid, place, random in
      let place = Comment(rawValue: place)
      try copy.copyContents(of: folder)
      let force = try store.force(in: copy, tryingNewFirst: Bool.random(using: &random), place)
      outcomes[force, default: 0] += 1
      try #require(!isSaid || force == .new, place)
      // What the disk kept of a copy without its marker is nobody's to remove.
      let names = folder.names
      for name in names {
        if let end = name.range(of: "-db"), !names.contains(String(name[..<end.lowerBound])) {
          unlink(folder.path(name))
        }
      }
      _ = try Database.rotateEncryptionKey(
        of: folder.path(RotatedStore.name), from: store.old, to: store.new, rewriting: mode.isRewriting)
      try store.requireRotated(in: folder, place)
    }
    try #require(isSaid)
    Campaign.report("\(cuts) power cuts, \(mode.testDescription): \(RotatedStore.text(outcomes))")
  }
}
