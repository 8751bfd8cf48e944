import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// What another process does to the file while it is open here.
extension OpeningTests {
  // MARK: Busy

  @Test("Another process holds the write lock longer than the timeout")
  func busy() throws {
    try SmallStore.make(path, Keys.raw)
    let keyFile = TemporaryFolder()
    let arguments = ["hold", path, keyFile.write("key", Keys.rawText), "INSERT INTO item (text) VALUES ('theirs')"]
    let holder = try Program.start(Program.helper, arguments)
    try #require(holder.waitForLine("holding"))
    for _ in 1...2 {
      let database = try Database(path: path, key: Keys.raw, options: .init(busyTimeout: 0.05), creating: false) { _ in
      }
      #expect(Keys.error { try database.write { try $0.run("INSERT INTO item (text) VALUES ('ours')") } } == .busy)
      #expect(try database.read { try SmallStore.texts($0) } == ["one", "two"], "readers do not wait")
    }
    holder.closeInput()
    #expect(holder.finish().lines.last == "ok")
    #expect(try SmallStore.texts(path, Keys.raw) == ["one", "two", "theirs"])
  }

  @Test("A writer waits as long as it is told to")
  func waits() async throws {
    try SmallStore.make(path, Keys.raw)
    let keyFile = TemporaryFolder()
    let arguments = ["hold", path, keyFile.write("key", Keys.rawText), "INSERT INTO item (text) VALUES ('theirs')"]
    let holder = try Program.start(Program.helper, arguments)
    try #require(holder.waitForLine("holding"))
    let database = try SmallStore.open(path, Keys.raw, busyTimeout: 30)
    async let ours: Void = database.write { try $0.run("INSERT INTO item (text) VALUES ('ours')") }
    holder.closeInput()
    try await ours
    #expect(holder.finish().lines.last == "ok")
    #expect(try SmallStore.texts(path, Keys.raw) == ["one", "two", "theirs", "ours"])
  }

  @Test("A file that another connection holds exclusively cannot even be opened")
  func busyAtOpen() throws {
    let other = RawSQLite(path, key: try Keys.raw, settings: SmallStore.schema)
    #expect(other.execute("BEGIN EXCLUSIVE") == 0)
    try expectFailure(.busy, Keys.raw)
    #expect(other.execute("ROLLBACK") == 0)
    #expect(try SmallStore.texts(path, Keys.raw).isEmpty)
  }

  @Test("Letting go of a replaced file leaves the log of the file that took its place", arguments: [true, false])
  func logOfTheNewFile(closing: Bool) throws {
    let database = try SmallStore.open(path, Keys.raw)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('old')") }
    for suffix in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: path + suffix) }
    try SmallStore.make(path, Keys.raw)
    let other = try Connection.open(path, key: Keys.raw)
    try other.run("INSERT INTO item (text) VALUES ('in the log')")
    let log = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.systemFileNumber] as? Int
    if closing {
      try database.close()
    } else {
      #expect(try database.read { try SmallStore.texts($0) } == ["one", "two", "in the log"])
    }
    #expect(try FileManager.default.attributesOfItem(atPath: path + "-wal")[.systemFileNumber] as? Int == log)
    try other.run("INSERT INTO item (text) VALUES ('more')")
    #expect(try SmallStore.texts(path, Keys.raw) == ["one", "two", "in the log", "more"])
  }

  // MARK: Rotated

  @Test("The file is rotated to another key under an open database", arguments: ["WAL", "DELETE"])
  func keyChanged(journal: String) throws {
    _ = RawSQLite(path, key: try Keys.raw, settings: "\(SmallStore.schema); PRAGMA journal_mode = \(journal)")
    let options = Connection.Options(access: journal == "WAL" ? .readWrite : .readOnly)
    let database = try Database(path: path, key: Keys.raw, options: options, creating: false) { _ in }
    #expect(try database.read { try SmallStore.texts($0) }.isEmpty)
    try rotate(to: Keys.wrong)
    let before = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date

    for _ in 1...2 {
      #expect(Keys.error { _ = try database.read { try SmallStore.texts($0) } } == .keyChanged)
    }
    if journal == "WAL" {
      for _ in 1...2 {
        #expect(
          Keys.error { try database.write { try $0.run("INSERT INTO item (text) VALUES ('lost')") } } == .keyChanged)
      }
    }
    try database.close()
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date == before)
    #expect(try SmallStore.texts(path, Keys.wrong).isEmpty)
    #expect(Keys.error { _ = try Connection.open(path, key: Keys.raw) } == .wrongKey)
  }

  @Test("Rotated there and back: the open database goes on, with a new connection")
  func keyChangedBack() throws {
    try SmallStore.make(path, Keys.raw)
    let database = try SmallStore.open(path, Keys.raw)
    try rotate(to: Keys.wrong)
    #expect(Keys.error { _ = try database.read { try SmallStore.texts($0) } } == .keyChanged)
    #expect(RawSQLite(path, key: try Keys.wrong).rotate(to: try Keys.raw))
    #expect(try database.read { try SmallStore.texts($0) } == ["one", "two"])
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('three')") }
    try database.close()
    #expect(try SmallStore.texts(path, Keys.raw) == ["one", "two", "three"])
  }

  private func rotate(to key: EncryptionKey) throws {
    #expect(RawSQLite(path, key: try Keys.raw).rotate(to: key))
  }

  // MARK: Replaced

  /// Puts another file in the store's place, as a restored backup would be: with the log folded in and out of the way.
  private func replace(_ database: Database, with other: String?) throws {
    try database.withWriter { try $0.foldLogIn() }
    for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
    if let other { #expect(rename(other, path) == 0) } else { #expect(unlink(path) == 0) }
  }

  @Test("Another store stands at the path: it is opened, and rows go there")
  func replaced() throws {
    try SmallStore.make(path, Keys.raw)
    try SmallStore.make(folder.path("other"), Keys.raw, ["restored"])
    let database = try SmallStore.open(path, Keys.raw)
    #expect(try database.read { try SmallStore.texts($0) } == ["one", "two"])
    try replace(database, with: folder.path("other"))
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('added')") }
    #expect(try database.read { try SmallStore.texts($0) } == ["restored", "added"])
    try database.close()
    #expect(folder.names == ["store"])
    #expect(try SmallStore.texts(path, Keys.raw) == ["restored", "added"])
  }

  @Test("A store under another key stands at the path")
  func replacedUnderAnotherKey() throws {
    try SmallStore.make(path, Keys.raw)
    try SmallStore.make(folder.path("other"), Keys.salted)
    let database = try SmallStore.open(path, Keys.raw)
    try replace(database, with: folder.path("other"))
    let before = folder.contents
    for _ in 1...2 {
      let error = Keys.error { try database.write { try $0.run("INSERT INTO item (text) VALUES ('lost')") } }
      #expect(error == .keyChanged)
    }
    try database.close()
    #expect(folder.contents == before)
    #expect(try SmallStore.texts(path, Keys.salted) == ["one", "two"])
  }

  @Test(
    "The file is gone: none is made in its place, not even where an absent one was to be made",
    arguments: [true, false])
  func deleted(creating: Bool) throws {
    try SmallStore.make(path, Keys.raw)
    let database = try SmallStore.open(path, Keys.raw, creating: creating)
    try replace(database, with: nil)
    for _ in 1...2 {
      let error = Keys.error { try database.write { try $0.run("INSERT INTO item (text) VALUES ('lost')") } }
      #expect(error == .fileReplaced)
      #expect(Keys.error { _ = try database.read { try SmallStore.texts($0) } } == .fileReplaced)
    }
    try database.close()
    #expect(folder.names.isEmpty)
  }

  @Test("A file that is moved away and back: in between calls fail, then they go on with all its rows")
  func movedAwayAndBack() throws {
    let database = try SmallStore.open(path, Keys.raw)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('one')") }
    #expect(try database.read { try SmallStore.texts($0) } == ["one"])
    let other = TemporaryFolder()
    for name in folder.names { #expect(rename(folder.path(name), other.path(name)) == 0) }
    for _ in 1...2 {
      let error = Keys.error { try database.write { try $0.run("INSERT INTO item (text) VALUES ('lost')") } }
      #expect(error == .fileReplaced)
      #expect(Keys.error { _ = try database.read { try SmallStore.texts($0) } } == .fileReplaced)
    }
    #expect(folder.names.isEmpty)
    for name in other.names { #expect(rename(other.path(name), folder.path(name)) == 0) }
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('two')") }
    #expect(try database.read { try SmallStore.texts($0) } == ["one", "two"])
    try database.close()
    let connection = try Connection.open(path, key: Keys.raw)
    #expect(try connection.integrityFaults().isEmpty)
    #expect(try SmallStore.texts(connection) == ["one", "two"])
  }

  // MARK: Disk full

  @Test("SQLite finds no room for a page, and the store goes on once there is room")
  func diskFull() throws {
    try SmallStore.make(path, Keys.raw)
    let database = try SmallStore.open(path, Keys.raw)
    try database.withWriter { _ = try $0.integer("PRAGMA max_page_count = \($0.pageCount + 2)") }
    for _ in 1...2 { #expect(Keys.error { try database.write { try $0.execute(SmallStore.noise) } } == .diskFull) }
    #expect(try database.read { try SmallStore.texts($0) } == ["one", "two"])
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('fits')") }
    try database.withWriter { _ = try $0.integer("PRAGMA max_page_count = 100000") }
    try database.write { try $0.execute(SmallStore.noise) }
    try database.close()
    #expect(try SmallStore.texts(path, Keys.raw).count == 403)
  }

  @Test("A full file system", .enabled(if: SmallDisk.isAvailable, "only root can mount a small file system"))
  func diskFullForReal() throws {
    let disk = try SmallDisk(size: "512k")
    let path = disk.path("store")
    let database = try SmallStore.open(path, Keys.raw)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('kept')") }
    for _ in 1...2 {
      let error = Keys.error { try database.write { for _ in 0..<100 { try $0.execute(SmallStore.noise) } } }
      #expect(error == .diskFull)
    }
    #expect(try database.read { try SmallStore.texts($0) } == ["kept"])
    try database.write { try $0.run("DELETE FROM item") }
    try database.close()
    #expect(try SmallStore.texts(path, Keys.raw).isEmpty)

    // No room to make a store, and nothing of it stays.
    try FileManager.default.removeItem(atPath: path)
    #expect(
      Keys.error {
        _ = try Database.create(path, key: Keys.raw) { connection in
          try connection.execute(SmallStore.schema)
          for _ in 0..<100 { try connection.execute(SmallStore.noise) }
        }
      } == .diskFull)
    #expect(disk.names.isEmpty)
    try SmallStore.make(path, Keys.raw)
  }
}
