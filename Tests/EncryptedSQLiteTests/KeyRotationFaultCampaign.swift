import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// Rotations on a disk that fills, or breaks, at any operation: the error says which key is in force, and the process goes
/// on under it as soon as the disk lets it.
@Suite(.enabled(if: FileRecorder.isAvailable, "there is no C compiler, or a sanitizer is on"))
struct KeyRotationFaultCampaign {
  let folder = TemporaryFolder()

  struct Mode: Sendable, CustomTestStringConvertible {
    /// Whether a database is open on the file, which is in the log's mode then.
    let isOpen: Bool
    let isRewriting: Bool
    let isBroken: Bool
    var testDescription: String {
      "\(isBroken ? "broken" : "full") disk, \(isOpen ? "open database, log" : "journal"), "
        + (isRewriting ? "rewrite" : "in place")
    }
  }

  static let modes = [true, false].flatMap { isOpen in
    [true, false].flatMap { isRewriting in
      [true, false].map { Mode(isOpen: isOpen, isRewriting: isRewriting, isBroken: $0) }
    }
  }

  @Test(arguments: modes) func fault(_ mode: Mode) throws {
    try Campaign.run(keeping: folder) { try run(mode) }
  }

  @Test("Where the commit fails, the error says why", arguments: [true, false]) func reason(isBroken: Bool) throws {
    try Campaign.run(keeping: folder) {
      let store = try RotatedStore(from: Keys.rawText, to: KeyRotationTests.otherKeys[0])
      let arguments = store.arguments("rotate-open", in: folder, isRewriting: false)
      try store.restore(in: folder)
      let recording = try FileRecorder.run(Program.helper, arguments, folder: folder.path).recording
      let writes = recording.numbersBeforeOutput { if case .write = $0 { true } else { false } }
      var count = 0
      // The first is that of the WAL's header, behind the check for room.
      for number in writes.prefix(12) {
        try store.restore(in: folder)
        let result = try FileRecorder.run(
          Program.helper, arguments, folder: folder.path,
          isBroken ? .brokenDisk(from: number) : .fullDisk(from: number)
        ).result
        let outcome = try #require(result.lines.first)
        let place: Comment = "operation \(number): \(result.output)"
        guard try store.force(in: folder, having: result.lines.contains("inserted") ? ["inserted"] : [], place) == .old
        else { continue }
        guard outcome != "rotationUnconfirmed" else { continue }
        count += 1
        try #require(outcome == (isBroken ? "inputOutput" : "diskFull"), place)
      }
      try #require(count > 0)
    }
  }

  private func run(_ mode: Mode) throws {
    let store = try RotatedStore(from: Keys.rawText, to: KeyRotationTests.otherKeys[0], hasLog: mode.isOpen)
    let arguments = store.arguments(
      mode.isOpen ? "rotate-open" : "rotate", in: folder, isRewriting: mode.isRewriting)
    try store.restore(in: folder)
    let (whole, recording) = try FileRecorder.run(Program.helper, arguments, folder: folder.path)
    try #require(whole.lines.first == "rotated")
    let operations = recording.countBeforeOutput
    var outcomes: [String: Int] = [:]
    let count = Campaign.count(12)
    for round in 0..<count {
      try store.restore(in: folder)
      let number = 1 + round * operations / count
      let place: Comment = "operation \(number) of \(operations)"
      let interruption: FileRecorder.Interruption = mode.isBroken ? .brokenDisk(from: number) : .fullDisk(from: number)
      let result = try FileRecorder.run(Program.helper, arguments, folder: folder.path, interruption).result
      try #require(result.errors.isEmpty && (result.status == 0 || result.status == 1), place)
      let outcome = try #require(result.lines.first)
      outcomes[outcome, default: 0] += 1
      let isInserted = result.lines.contains("inserted")
      // The database itself may have been opened on the faulty disk, and there was nothing to insert into.
      try #require(
        isInserted || !mode.isOpen || result.lines.count == 1
          || outcome == "rotationUnconfirmed" && result.lines[1] == "keyChanged", "\(place): \(result.output)")
      let more = isInserted ? ["inserted"] : []
      // SQLite keeps its log where closing fails too.
      if !mode.isBroken { try #require(!folder.names.contains { $0.contains(".new-") }, place) }
      let force = try store.force(in: folder, having: more, place)
      switch outcome {
      case "rotated": try #require(force == .new, place)
      case "rotationUnconfirmed": break
      case "diskFull", "inputOutput", "rotationFailed", "permissionDenied", "busy":
        try #require(force == .old, "\(place): \(outcome)")
      default: try #require(Bool(false), "\(place): \(outcome)")
      }
      let again = try Database.rotateEncryptionKey(
        of: folder.path(RotatedStore.name), from: store.old, to: store.new, rewriting: mode.isRewriting)
      try #require(again.wasDone == (force == .new), place)
      try store.requireRotated(in: folder, having: more, place)
    }
    let text = outcomes.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    Campaign.report("\(count) faults, \(mode.testDescription): \(text)")
  }
}
