import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// Kills and power cuts of processes that let pushes wait, and that import them: what was said to be durable is in the
/// spool or in the store, each push once.
@Suite(.enabled(if: FileRecorder.isAvailable, "there is no C compiler, or a sanitizer is on"))
struct SpoolCampaign {
  private let folder = TemporaryFolder()
  private let original = TemporaryFolder()
  private let keys = TemporaryFolder()
  private let count = 4

  private var path: String { folder.path("store") }
  private var keyFile: String { keys.path("key") }

  /// An empty store, with `waiting` pushes in its spool.
  private func make(waiting: Int) throws {
    _ = keys.write("key", Keys.rawText)
    let store = try NotificationStore(.init(path: original.path("store"), key: Keys.raw))
    try store.database.withWriter { try $0.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
    try store.close()
    if waiting > 0 {
      let result = try Program.run(Program.helper, ["spool", original.path("store"), keyFile, "\(waiting)"])
      try #require(result.lines == ["durable \(waiting)", "ok"])
    }
    try folder.copyContents(of: original)
  }

  /// The pushes that the store has once it was opened.
  private func pushes(_ place: Comment) throws -> [String] {
    let store = try NotificationStore(.init(path: path, key: Keys.raw))
    defer { try? store.close() }
    // No file has its name before its content is on the medium.
    try #require(store.spool.faults.isEmpty, place)
    let pushes = try store.notifications.page(limit: 1000).map(\.notificationId)
    try #require(Set(pushes).count == pushes.count, place)
    try #require(try store.database.read { try DeliveryReceiptQueue($0).count() } == pushes.count, place)
    return pushes
  }

  private var all: [String] { (0..<count).map { "n\($0)" } }

  @Test(
    "Killed at any operation of an append: none of the pushes is there twice, and all that were said to be durable are")
  func killedAppend() throws {
    try make(waiting: 0)
    let operations = try FileRecorder.run(Program.helper, ["spool", path, keyFile, "\(count)"], folder: folder.path)
      .recording.count
    try #require(operations > 3 * count)
    for operation in 1...operations {
      try folder.copyContents(of: original)
      let killed = try FileRecorder.run(
        Program.helper, ["spool", path, keyFile, "\(count)"], folder: folder.path, .kill(at: operation)
      ).result
      try #require(killed.status == SIGKILL && killed.output.isEmpty)
      let pushes = try pushes("killed at \(operation)")
      try #require(pushes == Array(all.prefix(pushes.count)), "killed at \(operation)")
    }
  }

  @Test("Killed at any operation of an import: the next one has each push once") func killedImport() throws {
    try make(waiting: count)
    let operations = try FileRecorder.run(Program.helper, ["open", path, keyFile], folder: folder.path).recording.count
    try #require(operations > 2 * count)
    for operation in 1...operations {
      try folder.copyContents(of: original)
      let killed = try FileRecorder.run(
        Program.helper, ["open", path, keyFile], folder: folder.path, .kill(at: operation)
      ).result
      try #require(killed.status == SIGKILL, "operation \(operation)")
      try #require(try pushes("killed at \(operation)") == all)
      try #require(access(path + ".spool", F_OK) != 0)
    }
  }

  @Test("A disk that breaks or fills up at any operation of an append: what is said to be kept is kept")
  func brokenDisk() throws {
    try make(waiting: 0)
    let operations = try FileRecorder.run(Program.helper, ["spool", path, keyFile, "\(count)"], folder: folder.path)
      .recording.countBeforeOutput
    for operation in 1...operations {
      for interruption in [FileRecorder.Interruption.fullDisk(from: operation), .brokenDisk(from: operation)] {
        try folder.copyContents(of: original)
        let result = try FileRecorder.run(
          Program.helper, ["spool", path, keyFile, "\(count)"], folder: folder.path, interruption
        ).result
        let durable = result.lines.first.flatMap { $0.hasPrefix("durable ") ? Int($0.dropFirst(8)) : 0 } ?? 0
        let pushes = try pushes("\(interruption)")
        try #require(pushes.count >= durable, "\(interruption)")
        try #require(pushes == Array(all.prefix(pushes.count)), "\(interruption)")
      }
    }
  }

  @Test("A power cut at any moment of an append: all are there once it was said that they are durable")
  func powerCutAppend() throws {
    try Campaign.run(keeping: folder) {
      try make(waiting: 0)
      var random = SeededGenerator(seed: 21)
      var disk = RecordedDisk(folder)
      let (result, recording) = try FileRecorder.run(
        Program.helper, ["spool", path, keyFile, "\(count)"], folder: folder.path)
      try #require(result.lines == ["durable \(count)", "ok"])
      let cuts = Campaign.count(60)
      var whole = 0
      let isSaid = try disk.cutPower(cuts, during: recording, into: folder, using: &random) { isSaid, place, _ in
        let pushes = try pushes(Comment(rawValue: place))
        try #require(!isSaid || pushes == all, Comment(rawValue: place))
        if pushes == all { whole += 1 }
      }
      try #require(isSaid)
      Campaign.report("\(cuts) power cuts of an append, all there after \(whole)")
    }
  }

  @Test("A power cut at any moment of an import: each push is in the spool or in the store")
  func powerCutImport() throws {
    try Campaign.run(keeping: folder) {
      try make(waiting: count)
      var random = SeededGenerator(seed: 22)
      var disk = RecordedDisk(folder)
      let (result, recording) = try FileRecorder.run(Program.helper, ["open", path, keyFile], folder: folder.path)
      try #require(result.lines == ["ok"])
      let cuts = Campaign.count(60)
      _ = try disk.cutPower(cuts, during: recording, into: folder, using: &random) { _, place, _ in
        try #require(try pushes(Comment(rawValue: place)) == all, Comment(rawValue: place))
      }
      Campaign.report("\(cuts) power cuts of an import, no loss")
    }
  }
}
