import CSQLCipher
import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// What a rotation may find: an honest error, the old key in force and the file as it was; or the new key in force.
extension KeyRotationTests {
  var newKey: EncryptionKey { get throws { try EncryptionKey(Self.otherKeys[0]) } }

  private func rotate(from old: EncryptionKey, to new: EncryptionKey, _ isRewriting: Bool) throws -> RotationReport {
    try Database.rotateEncryptionKey(of: path, from: old, to: new, rewriting: isRewriting, busyTimeout: 0.1)
  }

  /// The rotation is refused, twice alike, and not a byte changes.
  private func expectRefusal(
    _ code: DatabaseError.Code, from old: EncryptionKey, to new: EncryptionKey, _ isRewriting: Bool,
    _ location: SourceLocation = #_sourceLocation
  ) {
    let before = folder.contents
    for _ in 1...2 {
      #expect(Keys.error { _ = try rotate(from: old, to: new, isRewriting) } == code, sourceLocation: location)
      #expect(folder.contents == before, sourceLocation: location)
    }
  }

  /// A database that is open goes on under the old key after a refusal.
  private func expectDatabaseRefusal(
    _ code: DatabaseError.Code?, to new: EncryptionKey, _ isRewriting: Bool,
    prepare: (Database) throws -> Void = { _ in }
  ) throws {
    let database = try SmallStore.open(path, Keys.raw, busyTimeout: 0.1)
    let before = try database.read { try SmallStore.texts($0) }
    let error = Keys.error { _ = try database.rotateEncryptionKey(to: new, rewriting: isRewriting) }
    #expect(error == code)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('after')") }
    try database.close()
    #expect(try SmallStore.texts(path, Keys.raw) == before + ["after"])
    #expect(folder.names == ["store.db"])
  }

  // MARK: Keys

  @Test(arguments: [true, false]) func aWrongOldKey(_ isRewriting: Bool) throws {
    try make(Keys.raw)
    expectRefusal(.wrongKey, from: try Keys.wrong, to: try newKey, isRewriting)
    expectRefusal(.wrongKey, from: try Keys.wrong, to: try Keys.salted, isRewriting)
    let keys = TemporaryFolder()
    let result = try Program.run(
      Program.helper, ["rotate", path, keys.write("wrong", Self.otherKeys[1]), keys.write("new", Self.otherKeys[0])])
    #expect(result.lines == ["wrongKey"] && result.errors.isEmpty, "\(result.errors)")
  }

  @Test(arguments: [true, false]) func theSameKey(_ isRewriting: Bool) throws {
    try make(Keys.raw)
    let otherSalt = try EncryptionKey(
      "x'" + Keys.rawText.dropFirst(2).prefix(64) + String(repeating: "9", count: 32) + "'")
    for key in [try Keys.raw, otherSalt] {
      expectRefusal(.invalidArgument, from: try Keys.raw, to: key, isRewriting)
      // To a database that has the file open it is a rotation that was done.
      try expectDatabaseRefusal(key == Keys.raw ? nil : .invalidArgument, to: key, isRewriting)
    }
  }

  // MARK: Files

  @Test(arguments: [true, false]) func nothingThatIsAStore(_ isRewriting: Bool) throws {
    expectRefusal(.notFound, from: try Keys.raw, to: try newKey, isRewriting)
    _ = folder.write("store.db", "")
    expectRefusal(.emptyFile, from: try Keys.raw, to: try newKey, isRewriting)
    try FileManager.default.removeItem(atPath: path)
    #expect(RawSQLite(path).execute(SmallStore.schema) == SQLITE_OK)
    expectRefusal(.notEncrypted, from: try Keys.raw, to: try newKey, isRewriting)
  }

  /// In a page of the table, in the first one, in a page that leads the free ones, and in one that is merely free.
  @Test(arguments: [true, false], [true, false]) func aDamagedPage(_ isRewriting: Bool, hasLog: Bool) throws {
    try make(Keys.raw, hasLog: hasLog, SmallStore.noise + "; DELETE FROM item WHERE id BETWEEN 50 AND 350")
    let sound = folder.contents
    let connection = try Connection.open(path, key: Keys.raw)
    let size = Int(try connection.integer("PRAGMA page_size") ?? 0)
    let free = Int(try connection.integer("PRAGMA freelist_count") ?? 0)
    let texts = try SmallStore.texts(connection)
    try connection.close()
    #expect(free > 10)
    var outcomes: [DatabaseError.Code?: Int] = [:]
    for page in 1...FileSystem.size(path) / size {
      try Damage.flipBit(path, at: (page - 1) * size + 150)
      let before = folder.contents
      let code = Keys.error { _ = try rotate(from: try Keys.raw, to: try newKey, isRewriting) }
      outcomes[code, default: 0] += 1
      if code == nil {
        // Of a free page nothing was asked.
        #expect(try SmallStore.texts(path, newKey) == texts, "page \(page)")
      } else {
        // Beside it, 4.6.1 may leave a journal that is marked as done.
        #expect(folder.contents["store.db"] == before["store.db"], "page \(page): \(code?.rawValue ?? "")")
        if code == .rotationFailed { #expect(try SmallStore.texts(path, Keys.raw) == texts, "page \(page)") }
        #expect([.corrupt, .wrongKey, .rotationFailed].contains(code), "page \(page): \(code?.rawValue ?? "")")
      }
      try sound["store.db"]?.write(to: URL(fileURLWithPath: path))
    }
    #expect(outcomes[.wrongKey] == 1 && outcomes[.corrupt, default: 0] > 3, "\(outcomes)")
  }

  @Test(arguments: [true, false]) func underTheNewKeyAlready(_ isRewriting: Bool) throws {
    try make(try newKey)
    let before = folder.contents
    for _ in 1...2 { #expect(try rotate(from: try Keys.raw, to: try newKey, isRewriting).wasDone) }
    #expect(folder.contents == before)
  }

  /// The file keeps the format of the library that made it.
  @Test(arguments: Fixture.readableGenerations) func aFileOfAnOlderGeneration(_ generation: Int) throws {
    let golden = try Fixture.golden(generation, in: folder)
    #expect(rename(golden, path) == 0)
    func rows(_ key: EncryptionKey, _ generation: Int) throws -> [String] {
      let connection = try Connection.open(path, key: key)
      #expect(connection.cipher.generation == generation)
      #expect(try connection.integrityFaults() == [])
      if connection.canCheckPageMACs { #expect(try connection.failedPageMACs() == []) }
      var texts: [String] = []
      for table in ["ios_notification", "ios_silent_push", "ios_notification_token"] {
        try connection.forEachRow("SELECT * FROM \(table) ORDER BY id") { row in
          texts.append(
            (0..<row.columnCount).map { row.isNull(at: $0) ? "-" : row.string(at: $0) }.joined(separator: "|"))
        }
      }
      try connection.close()
      return texts
    }
    var key = try EncryptionKey(Fixture.goldenKey)
    let before = try rows(key, generation)
    #expect(!before.isEmpty)
    for (next, isRewriting) in [(Self.otherKeys[2], false), (Keys.rawText, true)] {
      let new = try EncryptionKey(next)
      // Generation 2 differs from 3 in the derivation alone, which a raw key does without.
      let expected = generation == 2 && new.kind == .rawKey ? 3 : generation
      #expect(try rotate(from: key, to: new, isRewriting).generation == expected)
      #expect(Keys.error { _ = try Connection.open(path, key: key) } == .wrongKey)
      #expect(try rows(new, expected) == before)
      #expect(folder.names == ["store.db"])
      key = new
    }
  }

  /// Asked again and again, until it would be too late.
  @Test(arguments: [true, false], [true, false]) func anInterruption(_ isRewriting: Bool, hasLog: Bool) throws {
    try make(Keys.raw, hasLog: hasLog)
    let before = try SmallStore.texts(path, Keys.raw)
    var asked = 0
    func rotate(stoppingAt last: Int) -> DatabaseError.Code? {
      asked = 0
      return Keys.error {
        _ = try Database.rotateEncryptionKey(of: path, from: Keys.raw, to: newKey, rewriting: isRewriting) {
          asked += 1
          return asked == last
        }
      }
    }
    var interruptions = 0
    while rotate(stoppingAt: interruptions + 1) == .cancelled {
      interruptions += 1
      let connection = try Connection.open(path, key: Keys.raw)
      #expect(try SmallStore.texts(connection) == before)
      #expect(try connection.text("PRAGMA journal_mode") == (hasLog ? "wal" : "delete"))
      try connection.close()
      #expect(folder.names == ["store.db"])
    }
    #expect(interruptions == (isRewriting ? 2 : 1) && asked == interruptions)
    #expect(try SmallStore.texts(path, newKey) == before)
  }

  // MARK: What a killed program left

  @Test(arguments: [true, false], [true, false])
  func afterAWriterWasKilled(_ isRewriting: Bool, hasLog: Bool) throws {
    try make(Keys.raw, hasLog: hasLog)
    let before = try SmallStore.texts(path, Keys.raw)
    let keys = TemporaryFolder()
    // With a log, a row that is in it alone; with a journal, half of a change that was not committed.
    let sql =
      hasLog
      ? "INSERT INTO item (text) VALUES ('late')" : "PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE item SET text = 'x'"
    let writer = try Program.start(Program.helper, ["keep", path, keys.write("key", Keys.rawText), sql])
    #expect(writer.waitForLine("keeping"))
    writer.kill()
    _ = writer.finish()
    #expect(FileSystem.size(path + (hasLog ? "-wal" : "-journal")) > 0)
    #expect(try !rotate(from: try Keys.raw, to: try newKey, isRewriting).wasDone)
    #expect(try SmallStore.texts(path, newKey) == before + (hasLog ? ["late"] : []))
    #expect(folder.names == ["store.db"])
  }

  // MARK: Permissions and room

  @Test(.enabled(if: geteuid() == 0, "only root can become another user"), arguments: [true, false], [true, false])
  func aReadOnlyFileOrFolder(_ isRewriting: Bool, isFolder: Bool) throws {
    try make(Keys.raw)
    #expect(chmod(path, isFolder ? 0o666 : 0o444) == 0)
    let before = folder.contents
    #expect(chmod(folder.path, isFolder ? 0o555 : 0o777) == 0)
    defer { chmod(folder.path, 0o700) }
    let keys = TemporaryFolder()
    let arguments =
      [keys.write("old", Keys.rawText), keys.write("new", Self.otherKeys[0])] + (isRewriting ? ["--rewrite"] : [])
    let result = try Program.run(
      Program.helper, ["rotate", path] + arguments, environment: ["AS_NOBODY": "1"])
    #expect(result.lines == ["readOnly"])
    #expect(folder.contents == before)
  }

  /// With each amount of free space it is either rotated, or under the old key with every row.
  @Test(.enabled(if: SmallDisk.isAvailable, "only root can mount a small file system"), arguments: [true, false])
  func aFullDisk(_ isRewriting: Bool) throws {
    for hasLog in [true, false] {
      try make(Keys.raw, hasLog: hasLog)
      let (size, rows) = (FileSystem.size(path), try SmallStore.texts(path, Keys.raw))
      let template = folder.path("template")
      #expect(rename(path, template) == 0)
      var outcomes: [DatabaseError.Code?: Int] = [:]
      // The rotation begins with as much as the file is long, and takes some more.
      for room in [0, size / 8192, size / 4096 + 1].flatMap({ [$0, $0 + 4] }) + (2...14).map({ size / 4096 + $0 }) {
        let disk = try SmallDisk(size: "\(size / 4096 * 4 + 4 + room * 4)k")
        let path = disk.path("store.db")
        try FileManager.default.copyItem(atPath: template, toPath: path)
        let code = Keys.error {
          _ = try Database.rotateEncryptionKey(of: path, from: Keys.raw, to: newKey, rewriting: isRewriting)
        }
        outcomes[code, default: 0] += 1
        #expect([nil, .diskFull, .rotationFailed].contains(code), "\(room) pages: \(code?.rawValue ?? "")")
        let key = code == nil ? try newKey : try Keys.raw
        // Elsewhere, for a reader too wants room.
        try FileManager.default.copyItem(atPath: path, toPath: self.path)
        #expect(try SmallStore.texts(self.path, key) == rows, "\(room) pages")
        try FileManager.default.removeItem(atPath: self.path)
        #expect(!disk.names.contains { $0.contains(".new-") || $0.hasSuffix("-journal") }, "\(room) pages")
      }
      #expect(outcomes[nil, default: 0] > 0 && outcomes[.diskFull, default: 0] > 0, "\(outcomes)")
      try FileManager.default.removeItem(atPath: template)
    }
  }
}
