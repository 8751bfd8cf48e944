import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// What becomes of the plaintext's own bytes, and what is noticed in between.
extension PlaintextStoreTests {
  /// What is left in the blocks of each file beside the path, through descriptors opened before.
  private func openFiles() throws -> [String: FileHandle] {
    try Dictionary(
      uniqueKeysWithValues: folder.names.filter { !$0.hasSuffix("-shm") }.map { name in
        (name, try FileHandle(forReadingFrom: URL(fileURLWithPath: folder.path(name))))
      })
  }

  private func expectZeros(_ files: [String: FileHandle], _ names: [String]) throws {
    #expect(files.keys.sorted() == names)
    for (name, file) in files {
      try file.seek(toOffset: 0)
      let bytes = try file.readToEnd() ?? Data()
      #expect(!bytes.isEmpty && bytes.allSatisfy { $0 == 0 }, "\(name) still has what stood in it")
    }
  }

  @Test func fileAndLogAreOverwrittenAndNotMerelyRemoved() throws {
    try PublicSensor.make(path, isKilled: true, PublicSensor.rows(2000))
    let files = try openFiles()
    #expect(try adopt()?.counts["ios_notification"] == 2004)
    try expectZeros(files, ["store.db", "store.db-wal"])
    #expect(folder.names == ["store.db"])
  }

  @Test func aLogThatIsFoldedInBeforeARefusalIsOverwrittenToo() throws {
    try PublicSensor.make(path, isKilled: true)
    var log = try openFiles()
    log["store.db"] = nil
    let code = Keys.error {
      _ = try PlaintextStore.adopt(at: path, key: Keys.raw) { stage in
        // Its place is taken by a folder, so that the last step before publication fails.
        if stage == .verified { _ = mkdir(path + ".adopting", 0o700) }
      }
    }
    #expect(code == .alreadyExists)
    try expectZeros(log, ["store.db-wal"])
    #expect(folder.names == ["store.db", "store.db.adopting"])
    #expect(rmdir(path + ".adopting") == 0)
    #expect(try adopt() != nil)
    try expectAdopted()
  }

  @Test func aJournalThatIsKeptIsOverwritten() throws {
    try PublicSensor.make(path)
    try PublicSensor.run(
      path,
      "PRAGMA journal_mode = DELETE; PRAGMA journal_mode = PERSIST; UPDATE ios_notification SET os = 'x'; UPDATE ios_notification SET os = 'iOS'"
    )
    let files = try openFiles()
    #expect(PublicSensor.plaintext(in: folder.contents) == ["store.db", "store.db-journal"])
    #expect(try adopt() != nil)
    try expectZeros(files, ["store.db", "store.db-journal"])
    try expectAdopted()
  }

  @Test func aJournalOfAKilledWriterIsRolledBackAndOverwritten() throws {
    try PublicSensor.make(path)
    let sensor = try PublicSensor.start(
      path,
      "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE;"
        + "UPDATE ios_notification SET title = 'half done';" + PublicSensor.rows(500))
    sensor.kill()
    _ = sensor.finish()
    let files = try openFiles()
    #expect(try adopt()?.counts["ios_notification"] == 4)
    try expectZeros(files, ["store.db", "store.db-journal"])
    try expectAdopted()
  }

  @Test func aCopyThatIsNotTheSameIsNotPublished() throws {
    for change in ["UPDATE ios_notification SET badge = 8 WHERE id = 9", "DELETE FROM ios_notification WHERE id = 9"]
      + ["UPDATE ios_silent_push SET payload = CAST(payload AS BLOB)"]
      + ["INSERT INTO ios_silent_push SELECT 7, timestamp, '', '', 1, '', 2, '', 'other', 0, '' FROM ios_silent_push"]
    {
      try PublicSensor.make(path)
      let before = try Data(contentsOf: URL(fileURLWithPath: path))
      let key = try Keys.raw
      let code = Keys.error {
        _ = try PlaintextStore.adopt(at: path, key: key) { stage in
          guard stage == .copied, let copy = folder.names.first(where: { $0.hasSuffix("-db") }) else { return }
          #expect(RawSQLite(folder.path(copy), key: key).execute(change) == 0)
        }
      }
      #expect(code == .adoptionIncomplete, "\(change)")
      #expect(folder.names == ["store.db"])
      // All but the journal mode in the header, and the counters that go with writing it.
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)).dropFirst(100) == before.dropFirst(100))
      try FileManager.default.removeItem(atPath: path)
    }
  }

  @Test(arguments: ["WAL", "DELETE"]) func aFileThatTakesTheSourcesPlaceMeanwhileIsNotTouched(mode: String) throws {
    try PublicSensor.make(path, isKilled: false, "PRAGMA journal_mode = \(mode)")
    let code = Keys.error {
      _ = try PlaintextStore.adopt(at: path, key: Keys.raw) { stage in
        guard stage == .logsSetAside else { return }
        #expect(rename(path, folder.path("moved")) == 0)
        _ = folder.write("store.db", "another file")
      }
    }
    #expect(code == .fileReplaced)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "another file")
    #expect(unlink(path) == 0 && rename(folder.path("moved"), path) == 0)
    #expect(try adopt() != nil)
  }
}
