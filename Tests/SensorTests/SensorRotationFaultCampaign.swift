import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// A sensor that rotates its store's key on a disk that fills, or breaks: whichever key is in force, the sensor has it at
/// hand, and its next push is stored.
@Suite(.enabled(if: FileRecorder.isAvailable, "there is no C compiler, or a sanitizer is on"))
struct SensorRotationFaultCampaign {
  private let folder = TemporaryFolder()
  private let original = TemporaryFolder()
  private let keys = TemporaryFolder()
  private let newText = "x'" + String(repeating: "5", count: 64) + "'"

  /// The payloads under whichever of the keys fits.
  private func payloads(_ place: Comment) throws -> [String] {
    for text in [Keys.rawText, newText] {
      do {
        let store = try NotificationStore(
          .init(path: folder.path("store.db"), key: EncryptionKey(text), access: .readOnly))
        defer { try? store.close() }
        return try store.silentPushes.page(limit: 9).map(\.payload)
      } catch let error as DatabaseError where error.code == .wrongKey {}
    }
    Issue.record("neither key opens it: \(place)")
    return []
  }

  @Test("With a key store, and with keys that are given", arguments: [true, false], [true, false])
  func fault(isKept: Bool, isBroken: Bool) throws {
    try Campaign.run(keeping: folder) { try run(isKept, isBroken) }
  }

  private func run(_ isKept: Bool, _ isBroken: Bool) throws {
    let store = try NotificationStore(.init(path: original.path("store.db"), key: Keys.raw))
    try store.silentPushes.insert([SilentPushData(payload: "first")])
    try store.close()
    let newKeyFile = keys.write("new", newText)
    let arguments =
      ["rotate-sensor", folder.path("store.db"), keys.path("key"), newKeyFile] + (isKept ? ["--kept"] : [])
    func restore() throws {
      try folder.copyContents(of: original)
      for name in keys.names where name != "new" { unlink(keys.path(name)) }
      _ = keys.write("key", Keys.rawText)
    }
    try restore()
    let (whole, recording) = try FileRecorder.run(Program.helper, arguments, folder: folder.path)
    try #require(whole.lines == ["rotated", "new", "newData", "ok"], "\(whole.output)\(whole.errors)")
    let operations = recording.countBeforeOutput
    let count = Campaign.count(12)
    var outcomes: [String: Int] = [:]
    for round in 0..<count {
      try restore()
      let number = 1 + round * operations / count
      let place: Comment = "operation \(number) of \(operations)"
      let result = try FileRecorder.run(
        Program.helper, arguments, folder: folder.path, isBroken ? .brokenDisk(from: number) : .fullDisk(from: number)
      ).result
      try #require(result.lines.count == 4 && result.lines.last == "ok", "\(place): \(result.output)\(result.errors)")
      let (outcome, atHand) = (result.lines[0], Set(result.lines[1].split(separator: " ").map(String.init)))
      outcomes[outcome, default: 0] += 1
      switch outcome {
      case "rotated": try #require(atHand.contains("new"), place)
      case "rotationUnconfirmed": try #require(atHand == ["old", "new"], "\(place): \(atHand)")
      default: try #require(atHand.contains("old"), "\(place): \(outcome), \(atHand)")
      }
      try #require(result.lines[2] == "newData", "\(place): \(result.output)")
      try #require(try payloads(place) == ["first", #"{"n":2}"#], place)
    }
    // Else the campaign has not come to what it is for.
    try #require(!isBroken || outcomes["rotationUnconfirmed", default: 0] > 0, "\(outcomes)")
    let text = outcomes.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    Campaign.report(
      "\(count) faults, sensor, \(isKept ? "key store" : "given keys"), \(isBroken ? "broken" : "full") disk: \(text)")
  }
}
