import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// What must not be adopted stays as it is.
extension PlaintextStoreTests {
  @Test(
    arguments: [
      ("CREATE TABLE ios_battery (x)", "ios_battery"),
      ("CREATE VIRTUAL TABLE words USING fts4(x)", "words_content"),
      ("CREATE TABLE \"odd \"\" name\" (x)", "odd"),
      ("DROP TABLE ios_silent_push; CREATE VIRTUAL TABLE ios_silent_push USING fts4(payload)", "ios_silent_push"),
    ], [false, true])
  func aFileThatIsSharedWithOtherSensors(more: (sql: String, name: String), isKilled: Bool) throws {
    try PublicSensor.make(path, isKilled: isKilled, more.sql)
    expectRefusal(.foreignTables, naming: more.name)
  }

  @Test(arguments: [
    ("ALTER TABLE ios_silent_push ADD COLUMN topic TEXT", "topic"),
    ("DROP TABLE ios_silent_push; CREATE TABLE ios_silent_push (id INTEGER PRIMARY KEY, payload TEXT)", "timestamp"),
    ("PRAGMA user_version = 2", "jsonVersion 2"), ("PRAGMA user_version = -1", "jsonVersion -1"),
  ])
  func aLayoutThatWouldLoseSomething(more: (sql: String, name: String)) throws {
    try PublicSensor.make(path, isKilled: true, more.sql)
    expectRefusal(.unknownLayout, naming: more.name)
  }

  @Test func aDamagedFile() throws {
    try PublicSensor.make(path, isKilled: false, PublicSensor.rows(500))
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try file.seek(toOffset: 10 * 4096)
    try file.write(contentsOf: Data(repeating: 0xff, count: 4096))
    try file.close()
    expectRefusal(.corrupt, naming: "damaged")
  }

  @Test func aFirstPageThatIsNotSQLites() throws {
    try PublicSensor.make(path)
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try file.seek(toOffset: 16)
    // No page has 3 bytes.
    try file.write(contentsOf: Data([0, 3]))
    try file.close()
    expectRefusal(.corrupt, naming: "damaged")
  }

  @Test(arguments: [
    "PRAGMA wal_autocheckpoint = 100", "BEGIN; SELECT * FROM ios_notification", "BEGIN IMMEDIATE",
    "PRAGMA journal_mode = DELETE; BEGIN; SELECT * FROM ios_notification",
    "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE",
  ])
  func aStoreThatAnotherProgramUses(how: String) throws {
    try PublicSensor.make(path)
    let sensor = try PublicSensor.start(path, "SELECT * FROM ios_notification", how)
    expectRefusal(.busy, naming: "close the app or program")
    // Nothing of it hinders the other program; and once that is done, the store is adopted.
    #expect(PlaintextStore.needsAdoption(at: path))
    sensor.closeInput()
    #expect(sensor.finish().status == 0)
    #expect(try adopt() != nil)
    try expectAdopted()
  }

  @Test func waitsForAnotherProgramAsLongAsItIsTold() throws {
    try PublicSensor.make(path)
    let sensor = try PublicSensor.start(path, "SELECT * FROM ios_notification")
    let ending = try Program.start("/bin/sh", ["-c", "sleep 0.2; kill -9 \(sensor.identifier)"])
    #expect(try adopt(wait: 30) != nil)
    #expect(ending.finish().status == 0 && sensor.finish().status == SIGKILL)
  }

  @Test(arguments: ["", "-wal"]) func aFileWithAnotherName(log: String) throws {
    try PublicSensor.make(path, isKilled: true)
    #expect(link(path + log, folder.path("theirs")) == 0)
    expectRefusal(.otherNames, naming: "second name")
    #expect(unlink(folder.path("theirs")) == 0)
    #expect(try adopt() != nil)
    try expectAdopted()
  }

  @Test(arguments: [mode_t(0o500), 0o600, 0o700]) func asAUserWhoMayNot(folderMode: mode_t) throws {
    let keys = TemporaryFolder()
    #expect(chmod(keys.path, 0o755) == 0)
    let keyFile = keys.write("key", Keys.rawText)
    try PublicSensor.make(path)
    #expect(chmod(path, folderMode == 0o700 ? 0o444 : 0o666) == 0)
    for name in [path, folder.path] { #expect(geteuid() != 0 || chown(name, 65534, 65534) == 0) }
    let before = folder.contents
    #expect(chmod(folder.path, folderMode) == 0)
    let result = try Program.run(Program.helper, ["adopt", path, keyFile], environment: ["AS_NOBODY": "1"])
    #expect(chmod(folder.path, 0o700) == 0)
    // A folder that cannot be searched shows no file at all.
    #expect(result.lines.first == (folderMode == 0o600 ? "nothing" : "readOnly"))
    #expect(folder.contents == before)
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a file away")) func theOwnerStaysTheOwner() throws {
    try PublicSensor.make(path)
    #expect(chown(path, 65534, 65533) == 0)
    #expect(try adopt() != nil)
    let status = try #require(try FileStatus(path))
    #expect(status.owner == 65534 && status.group == 65533)
  }

  /// With each amount of free space it is either adopted, or left as it was.
  @Test(.enabled(if: SmallDisk.isAvailable, "only root can mount a small file system"))
  func aFullDisk() throws {
    let disk = try SmallDisk(size: "2m")
    let template = TemporaryFolder()
    try PublicSensor.make(template.path("store.db"), isKilled: true, PublicSensor.rows(500))
    var results: [DatabaseError.Code?: Int] = [:]
    for pages in [0, 1, 2, 5, 9, 20, 40, 60, 70, 80, 100, 120, 150, 200] {
      let path = disk.path("store.db")
      for log in ["", "-wal"] {
        try FileManager.default.copyItem(atPath: template.path("store.db") + log, toPath: path + log)
      }
      try fill(disk.path("filler"), leaving: pages * 4096)
      let code = Keys.error { _ = try PlaintextStore.adopt(at: path, key: Keys.raw) }
      results[code, default: 0] += 1
      #expect(code == nil || code == .diskFull, "\(pages) pages: \(code?.rawValue ?? "")")
      #expect(!disk.names.contains { $0.contains(".new-") || $0.contains(".adopting") }, "\(disk.names)")
      try FileManager.default.removeItem(atPath: disk.path("filler"))
      if code != nil { #expect(try PlaintextStore.adopt(at: path, key: Keys.raw) != nil) }
      #expect(disk.names == ["store.db"])
      let store = try NotificationStore(.init(path: path, key: Keys.raw))
      #expect(try store.notifications.count() == 504)
      try store.close()
      try FileManager.default.removeItem(atPath: path)
    }
    #expect(results.count == 2, "\(results)")
  }

  private func fill(_ path: String, leaving free: Int) throws {
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    var status = statvfs()
    #expect(statvfs(path, &status) == 0)
    let room = Int(status.f_bavail) * Int(status.f_frsize) - free
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.write(contentsOf: Data(repeating: 1, count: max(0, room)))
    try file.close()
  }
}
