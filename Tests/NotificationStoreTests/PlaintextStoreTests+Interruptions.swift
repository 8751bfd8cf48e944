import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// Adoptions that are cut short, and several at once.
extension PlaintextStoreTests {
  private func makeKey() -> (TemporaryFolder, String) {
    let keys = TemporaryFolder()
    return (keys, keys.write("key", Keys.rawText))
  }

  /// One of the two is complete at the path: nobody ever finds nothing there.
  private func expectOneOfTheTwo(at path: String, or other: String? = nil, rows: Int = 4) throws {
    if PlaintextStore.isPlaintext(at: path) {
      // On a copy, for looking folds the log in.
      let copy = TemporaryFolder()
      for log in ["", "-wal"] where FileManager.default.fileExists(atPath: path + log) {
        try FileManager.default.copyItem(atPath: path + log, toPath: copy.path("copy" + log))
      }
      try PublicSensor.run(
        copy.path("copy"),
        "CREATE TABLE proof (x CHECK (x = \(rows))); INSERT INTO proof SELECT count(*) FROM ios_notification")
    } else {
      let store = try NotificationStore(.init(path: other ?? path, key: Keys.raw, access: .readOnly))
      #expect(try store.notifications.count() == rows)
      try store.close()
    }
  }

  @Test(arguments: AdoptionStage.allCases, [false, true])
  func killedAfterEachStage(stage: AdoptionStage, isInPlace: Bool) throws {
    let (keys, keyFile) = makeKey()
    defer { withExtendedLifetime(keys) {} }
    try PublicSensor.make(path, isKilled: true)
    let place = isInPlace ? path : folder.path("new.db")
    let killed = try Program.run(Program.helper, ["adopt", path, keyFile, stage.rawValue, place])
    #expect(killed.status == SIGKILL && killed.output.isEmpty)
    try expectOneOfTheTwo(at: path, or: place)
    let isDone = stage == .shredded
    #expect(PlaintextStore.needsAdoption(at: path) == !isDone)
    let again = try Program.run(Program.helper, ["adopt", path, keyFile, "", place])
    let isPublished = [.published, .shredding].contains(stage)
    #expect(again.lines == [isDone ? "nothing" : isPublished ? "finished" : "adopted", "ok"])
    try expectAdopted(at: place, names: [isInPlace ? "store.db" : "new.db"])
  }

  /// Killed again and again, each time one stage on.
  @Test func killedAtEveryAttempt() throws {
    let (keys, keyFile) = makeKey()
    defer { withExtendedLifetime(keys) {} }
    try PublicSensor.make(path, isKilled: true)
    for stage in AdoptionStage.allCases {
      _ = try Program.run(Program.helper, ["adopt", path, keyFile, stage.rawValue])
      try expectOneOfTheTwo(at: path)
    }
    _ = try Program.run(Program.helper, ["adopt", path, keyFile])
    try expectAdopted()
  }

  /// The app goes on with its store after an adoption was killed, and nothing that it adds is lost.
  @Test(arguments: AdoptionStage.allCases.filter { ![.published, .shredding, .shredded].contains($0) })
  func usedAgainAfterAKill(stage: AdoptionStage) throws {
    let (keys, keyFile) = makeKey()
    defer { withExtendedLifetime(keys) {} }
    try PublicSensor.make(path, isKilled: true)
    _ = try Program.run(Program.helper, ["adopt", path, keyFile, stage.rawValue])
    let sensor = try PublicSensor.start(path, "PRAGMA journal_mode = WAL", PublicSensor.rows(3))
    sensor.kill()
    _ = sensor.finish()
    #expect(try adopt()?.counts["ios_notification"] == 7)
    #expect(folder.names == ["store.db"] && PublicSensor.plaintext(in: folder.contents) == [])
  }

  /// Killed at points spread over the run.
  @Test func killedAtAnyMoment() throws {
    let (keys, keyFile) = makeKey()
    defer { withExtendedLifetime(keys) {} }
    let template = TemporaryFolder()
    try PublicSensor.make(template.path("store.db"), isKilled: true, PublicSensor.rows(300))
    func restore() throws {
      for name in folder.names { try FileManager.default.removeItem(atPath: folder.path(name)) }
      for log in ["", "-wal"] {
        try FileManager.default.copyItem(atPath: template.path("store.db") + log, toPath: path + log)
      }
    }
    try restore()
    let start = Date()
    #expect(try Program.run(Program.helper, ["adopt", path, keyFile]).lines == ["adopted", "ok"])
    let duration = Date().timeIntervalSince(start)
    var killed = 0
    let count = Campaign.count(20)
    for round in 0..<count {
      try restore()
      let running = try Program.start(Program.helper, ["adopt", path, keyFile])
      usleep(UInt32(duration * 1_000_000 * Double(round) / Double(count)))
      running.kill()
      killed += running.finish().status == SIGKILL ? 1 : 0
      try expectOneOfTheTwo(at: path, rows: 304)
      #expect(try Program.run(Program.helper, ["adopt", path, keyFile]).lines.last == "ok")
      #expect(folder.names == ["store.db"] && PublicSensor.plaintext(in: folder.contents) == [], "round \(round)")
      #expect(try value("SELECT count(*) FROM ios_notification") == 304)
    }
    #expect(killed > 0, "no run was killed before its end: the test proved nothing")
  }

  @Test func severalProcessesAtOnce() throws {
    let (keys, keyFile) = makeKey()
    defer { withExtendedLifetime(keys) {} }
    for _ in 0..<Campaign.count(3) {
      try PublicSensor.make(path, isKilled: true)
      let adopters = try (0..<4).map { _ in try Program.start(Program.helper, ["adopt", path, keyFile]) }
      let results = adopters.map { $0.finish().lines[0] }
      #expect(results.sorted() == ["adopted", "nothing", "nothing", "nothing"])
      try expectAdopted()
      try FileManager.default.removeItem(atPath: path)
    }
  }

  // MARK: What an earlier adoption left

  /// The state after a kill once the encrypted store was published.
  private func cutShortAfterPublishing(_ more: String = "") throws {
    let (keys, keyFile) = makeKey()
    defer { withExtendedLifetime(keys) {} }
    try PublicSensor.make(path, isKilled: false, more)
    _ = try Program.run(Program.helper, ["adopt", path, keyFile, "published"])
    // The mark of the file that was being made has no bytes, nor has the lock; they go with the next run.
    for name in folder.names where name.hasPrefix("store.db.new-") || name == "store.db.lock" {
      unlink(folder.path(name))
    }
    #expect(folder.names == ["store.db", "store.db.adopting"])
  }

  @Test func plaintextIsKeptThatIsNotInTheStore() throws {
    try cutShortAfterPublishing()
    let store = try NotificationStore(.init(path: path, key: Keys.raw))
    try store.notifications.delete(ids: [5])
    try store.close()
    expectRefusal(.adoptionIncomplete, naming: "1 records of")
  }

  /// As after a kill before the source's name was removed, and after it.
  @Test(arguments: [false, true]) func plaintextOfAnotherPathIsKeptThatIsNotInTheStore(isSourceRemoved: Bool) throws {
    let (keys, keyFile) = makeKey()
    defer { withExtendedLifetime(keys) {} }
    let destination = folder.path("new.db")
    try PublicSensor.make(path, isKilled: false)
    _ = try Program.run(Program.helper, ["adopt", path, keyFile, "published", destination])
    if isSourceRemoved { try FileManager.default.removeItem(atPath: path) }
    for name in folder.names where name.hasPrefix("new.db.new-") { unlink(folder.path(name)) }
    let store = try NotificationStore(.init(path: destination, key: Keys.raw))
    try store.notifications.delete(ids: [5])
    try store.close()
    func files() -> [String: Data] {
      folder.contents.filter { file in !["-shm", "-wal", ".lock"].contains(where: file.key.hasSuffix) }
    }
    let before = files()
    #expect(before.keys.sorted() == ["new.db"] + (isSourceRemoved ? [] : ["store.db"]) + ["store.db.adopting"])
    for _ in 1...2 {
      let code = Keys.error { _ = try PlaintextStore.adopt(at: path, into: destination, key: Keys.raw) }
      #expect(code == .adoptionIncomplete)
      #expect(files() == before)
    }
  }

  @Test func plaintextIsKeptWhenTheKeyIsAnother() throws {
    try cutShortAfterPublishing()
    let before = folder.contents
    let code = Keys.error { _ = try PlaintextStore.adopt(at: path, key: Keys.wrong) }
    #expect(code == .wrongKey)
    #expect(folder.contents == before)
  }

  @Test func plaintextIsKeptWhenTheStoreIsGone() throws {
    try cutShortAfterPublishing()
    try FileManager.default.removeItem(atPath: path)
    expectRefusal(.notFound, naming: "store.db.adopting")
  }

  @Test func plaintextWithAnotherNameIsNotOverwritten() throws {
    try cutShortAfterPublishing()
    #expect(link(path + ".adopting", folder.path("theirs")) == 0)
    expectRefusal(.otherNames, naming: "second name")
  }

  @Test func twoPlaintextStoresAreForAPersonToDecide() throws {
    try cutShortAfterPublishing()
    try FileManager.default.removeItem(atPath: path)
    try PublicSensor.make(path)
    expectRefusal(.adoptionIncomplete, naming: "move one of the two away")
  }

  @Test func rowsWithOddValuesAreRecognisedByTheirRecordIds() throws {
    try cutShortAfterPublishing(
      """
      UPDATE ios_notification SET badge = 'x', interruptionLevel = 1.5, timezone = x'00ff', title = x'c328',
        label = 'other', body = CAST(x'ff41' AS TEXT) WHERE id = 1
      """)
    #expect(try adopt()?.isOnlyFinished == true)
    #expect(folder.names == ["store.db"])
  }

  @Test func somethingElseOfThatNameIsLeftAlone() throws {
    _ = try NotificationStore.create(path, key: Keys.raw)
    _ = folder.write("store.db.adopting", String(repeating: "their notes", count: 100))
    expectRefusal(.corrupt, naming: "store.db.adopting is damaged")
    #expect(unlink(path + ".adopting") == 0)
    let target = folder.write("target", String(repeating: "\0", count: 5000))
    try FileManager.default.createSymbolicLink(atPath: path + ".adopting", withDestinationPath: target)
    expectRefusal(.notAFile, naming: "store.db.adopting")
  }
}
