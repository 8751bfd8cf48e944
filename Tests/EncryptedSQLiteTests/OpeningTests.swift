import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// One test for each row of the table of what opening may find. After each failure every file is as it was, and the
/// same error comes a second time.
@Suite struct OpeningTests {
  let folder = TemporaryFolder()
  var path: String { folder.path("store") }

  static var generation: Int {
    get throws { Int(try Connection.libraryVersion().prefix { $0.isNumber }) ?? 0 }
  }

  /// Whether the linked library has formats of older generations to read.
  static let readsOlderFiles = ((try? generation) ?? 0) >= 4

  /// Expects `code` from each way to open the file, twice, and no change to any file.
  func expectFailure(
    _ code: DatabaseError.Code, _ key: EncryptionKey, at path: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let path = path ?? self.path
    let (names, contents) = (folder.names, storedBytes)
    for round in 1...2 {
      for access in [Connection.Access.readWrite, .readOnly] {
        let error = Keys.error {
          _ = try Connection.open(path, key: key, options: .init(access: access, busyTimeout: 0))
        }
        #expect(error == code, "\(access), round \(round)", sourceLocation: sourceLocation)
      }
      let error = Keys.error { _ = try SmallStore.open(path, key, busyTimeout: 0) }
      #expect(error == code, "Database, round \(round)", sourceLocation: sourceLocation)
    }
    #expect(folder.names == names, sourceLocation: sourceLocation)
    #expect(storedBytes == contents, sourceLocation: sourceLocation)
  }

  /// All but the `-shm` file, where running processes note what they read, and which holds nothing of the store.
  private var storedBytes: [String: Data] { folder.contents.filter { !$0.key.hasSuffix("-shm") } }

  // MARK: Absent

  @Test func absent() throws {
    for access in [Connection.Access.readOnly, .readWrite] {
      #expect(Keys.error { _ = try Connection.open(path, key: Keys.raw, options: .init(access: access)) } == .notFound)
    }
    #expect(Keys.error { _ = try SmallStore.open(path, Keys.raw, creating: false) } == .notFound)
    let reading = Connection.Options(access: .readOnly)
    let error = Keys.error {
      _ = try Database(path: path, key: Keys.raw, options: reading, creating: true) { _ in }
    }
    #expect(error == .notFound)
    #expect(folder.names.isEmpty)

    let database = try SmallStore.open(path, Keys.raw)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('new')") }
    try database.close()
    #expect(folder.names == ["store"])
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    #expect(try SmallStore.texts(path, Keys.raw) == ["new"])
  }

  @Test func absentFolder() throws {
    try expectFailure(.notFound, Keys.raw, at: folder.path("none/store"))
    _ = folder.write("file", "")
    try expectFailure(.notFound, Keys.raw, at: folder.path("file/store"))
  }

  @Test(arguments: ["", "a\0b"])
  func noPath(_ path: String) throws {
    try expectFailure(.invalidArgument, Keys.raw, at: path)
  }

  // MARK: Right key

  @Test func rightKey() throws {
    try SmallStore.make(path, Keys.passphrase)
    let connection = try Connection.open(path, key: Keys.passphrase)
    #expect(try SmallStore.texts(connection) == ["one", "two"])
    #expect(try connection.cipher.generation == Self.generation)
    #expect(!connection.cipher.isOlderThanLibrary)
    #expect(try connection.text("PRAGMA journal_mode") == "wal")
    #expect(connection.path == path)
    try connection.close()
    #expect(folder.names == ["store"])
  }

  @Test("A reader leaves no file behind, and cannot write")
  func rightKeyReadOnly() throws {
    try SmallStore.make(path, Keys.raw)
    let before = folder.contents
    let connection = try Connection.open(path, key: Keys.raw, options: .init(access: .readOnly))
    #expect(try SmallStore.texts(connection) == ["one", "two"])
    #expect(Keys.error { try connection.execute("DELETE FROM item") } == .readOnly)
    try connection.close()
    #expect(folder.contents == before)
  }

  // MARK: Wrong key

  @Test(arguments: [Keys.rawText, Keys.saltedText, Keys.passphraseText])
  func wrongKey(_ text: String) throws {
    let key = try EncryptionKey(text)
    try SmallStore.make(path, key)
    try expectFailure(.wrongKey, Keys.wrong)
    // Right after wrong.
    #expect(try SmallStore.texts(path, key) == ["one", "two"])
  }

  @Test("A wrong passphrase, one letter off")
  func wrongPassphrase() throws {
    try SmallStore.make(path, Keys.passphrase)
    let before = folder.contents
    let wrong = try EncryptionKey(Keys.passphraseText + " ")
    for _ in 1...2 { #expect(Keys.error { _ = try Connection.open(path, key: wrong) } == .wrongKey) }
    #expect(folder.contents == before)
  }

  @Test("A wrong key beside an open connection whose rows are still in the log")
  func wrongKeyBesideALog() throws {
    try SmallStore.make(path, Keys.raw)
    let database = try SmallStore.open(path, Keys.raw)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('three')") }
    #expect(folder.names == ["store", "store-shm", "store-wal"])
    try expectFailure(.wrongKey, Keys.wrong)
    #expect(try database.read { try SmallStore.texts($0) } == ["one", "two", "three"])
  }

  @Test("Damage to the first page looks like a wrong key, and the text says so", arguments: [0, 15, 16, 100, 1000])
  func damagedFirstPage(offset: Int) throws {
    try SmallStore.make(path, Keys.raw)
    try Damage.flipBit(path, at: offset)
    try expectFailure(.wrongKey, Keys.raw)
    #expect {
      try Connection.open(path, key: Keys.raw)
    } throws: {
      ($0 as? DatabaseError)?.message.contains("first page") == true
    }
  }

  @Test(arguments: [2, 100, 1000])
  func fileOfOtherBytes(size: Int) throws {
    _ = folder.write("store", String(repeating: "?", count: size))
    try expectFailure(.wrongKey, Keys.raw)
  }

  // MARK: Not encrypted

  @Test(arguments: ["DELETE", "WAL"])
  func notEncrypted(journal: String) throws {
    var raw: RawSQLite? = RawSQLite(path, settings: "PRAGMA journal_mode = \(journal); \(SmallStore.schema)")
    #expect(raw?.execute("INSERT INTO item (text) VALUES ('clear')") == 0)
    raw = nil
    try expectFailure(.notEncrypted, Keys.raw)
    try expectFailure(.notEncrypted, Keys.passphrase)
  }

  @Test("A plain file in use by another program")
  func notEncryptedBesideALog() throws {
    let raw = RawSQLite(path, settings: "PRAGMA journal_mode = WAL; \(SmallStore.schema); \(SmallStore.noise)")
    #expect(raw.execute("PRAGMA wal_checkpoint; INSERT INTO item (text) VALUES ('in the log')") == 0)
    #expect(folder.names.contains("store-wal"))
    try expectFailure(.notEncrypted, Keys.raw)
  }

  @Test("A file that only begins like a plain one is not called plain", .enabled(if: readsOlderFiles))
  func readableHeader() throws {
    let settings = "PRAGMA cipher_plaintext_header_size = 32; \(SmallStore.schema)"
    _ = RawSQLite(path, key: try Keys.salted, settings: settings)
    #expect(folder.contents["store"]?.starts(with: Data("SQLite format 3\0".utf8)) == true)
    try expectFailure(.wrongKey, Keys.wrong)
  }

  // MARK: An older generation

  @Test(.enabled(if: readsOlderFiles, "the linked library is the oldest that is supported"), arguments: [3, 2, 1])
  func olderGeneration(_ generation: Int) throws {
    let settings = "PRAGMA cipher_compatibility = \(generation); \(SmallStore.schema)"
    let raw = RawSQLite(path, key: try Keys.passphrase, settings: settings)
    #expect(raw.execute("INSERT INTO item (text) VALUES ('old')") == 0)

    let connection = try Connection.open(path, key: Keys.passphrase)
    // A file of 64,000 rounds has no mark of its generation: 3 and 2 differ in their rounds alone.
    #expect(connection.cipher.generation == generation)
    #expect(connection.cipher.isOlderThanLibrary)
    #expect(try SmallStore.texts(connection) == ["old"])
    try connection.run("INSERT INTO item (text) VALUES ('newer')")
    try connection.close()
    #expect(try SmallStore.texts(path, Keys.passphrase) == ["old", "newer"])
  }

  @Test(.enabled(if: readsOlderFiles, "the linked library is the oldest that is supported"))
  func olderGenerationWrongKey() throws {
    _ = RawSQLite(
      path, key: try Keys.passphrase, settings: "PRAGMA cipher_compatibility = 3; \(SmallStore.schema)")
    try expectFailure(.wrongKey, Keys.wrong)
    #expect(try SmallStore.texts(path, Keys.passphrase).isEmpty)
  }

  // MARK: Zero bytes, and what is no file

  /// SQLite takes a single byte for none, and would write over it.
  @Test(arguments: ["", "?"])
  func zeroBytes(_ text: String) throws {
    _ = folder.write("store", text)
    try expectFailure(.emptyFile, Keys.raw)
  }

  @Test func aFolder() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    try expectFailure(.notAFile, Keys.raw)
  }

  @Test("A FIFO does not block")
  func fifo() throws {
    // Not among the files whose bytes are compared: reading it would wait.
    let other = TemporaryFolder()
    #expect(mkfifo(other.path("store"), 0o600) == 0)
    try expectFailure(.notAFile, Keys.raw, at: other.path("store"))
    #expect(other.names == ["store"])
  }

  // MARK: Permissions

  /// What a program of another user gets, in two attempts.
  func asNobody(_ command: String, at path: String? = nil) throws -> [String] {
    let keyFolder = TemporaryFolder()
    let keyFile = keyFolder.write("key", Keys.rawText)
    return try (1...2).flatMap { _ in
      try Program.run(Program.helper, [command, path ?? self.path, keyFile], environment: ["AS_NOBODY": "1"]).lines
    }
  }

  func makeForNobody(file: mode_t, folder folderMode: mode_t) throws -> [String: Data] {
    #expect(try Program.run(Program.helper, ["create", path, folder.write("key", Keys.rawText)]).lines == ["ok"])
    try FileManager.default.removeItem(atPath: folder.path("key"))
    #expect(chmod(path, file) == 0)
    let before = folder.contents
    #expect(chmod(folder.path, folderMode) == 0)
    return before
  }

  @Test func unreadable() throws {
    let before = try makeForNobody(file: 0o000, folder: 0o755)
    for command in ["open", "read", "create"] {
      #expect(try asNobody(command) == ["permissionDenied", "permissionDenied"])
    }
    #expect(chmod(path, 0o600) == 0)
    #expect(folder.contents == before)
  }

  @Test func unreadableFolder() throws {
    let before = try makeForNobody(file: 0o644, folder: 0o000)
    for command in ["open", "read"] {
      #expect(try asNobody(command) == ["permissionDenied", "permissionDenied"])
    }
    #expect(chmod(folder.path, 0o700) == 0)
    #expect(folder.contents == before)
  }

  @Test func readOnlyFile() throws {
    let before = try makeForNobody(file: 0o444, folder: 0o755)
    for command in ["open", "create"] { #expect(try asNobody(command) == ["readOnly", "readOnly"]) }
    #expect(folder.contents == before)
  }

  @Test func readOnlyFolder() throws {
    let before = try makeForNobody(file: 0o666, folder: 0o555)
    for command in ["open", "create"] { #expect(try asNobody(command) == ["readOnly", "readOnly"]) }
    #expect(folder.contents == before)
    #expect(chmod(folder.path, 0o700) == 0)
  }

  @Test("A store that cannot be written, nor anything beside it, is read as it lies")
  func readOnlyMedium() throws {
    let before = try makeForNobody(file: 0o444, folder: 0o555)
    defer { chmod(folder.path, 0o700) }
    #expect(try asNobody("read") == ["ok", "ok"])
    #expect(try asNobody("open") == ["readOnly", "readOnly"])
    #expect(folder.contents == before)
  }

  @Test("Rows that are still in the log are not passed over, where the log cannot be read with its locks")
  func readOnlyMediumWithALog() throws {
    _ = try makeForNobody(file: 0o444, folder: 0o755)
    let connection = try Connection.open(path, key: Keys.raw)
    try connection.execute("CREATE TABLE late (id)")
    let copy = TemporaryFolder()
    for name in ["store", "store-wal"] {
      try FileManager.default.copyItem(atPath: folder.path(name), toPath: copy.path(name))
      #expect(chmod(copy.path(name), 0o444) == 0)
    }
    #expect(chmod(copy.path, 0o555) == 0)
    defer { chmod(copy.path, 0o700) }
    #expect(try asNobody("read", at: copy.path("store")) == ["permissionDenied", "permissionDenied"])
    #expect(copy.names == ["store", "store-wal"])
  }

  // MARK: Newer schema

  @Test func newerSchema() throws {
    let keyFile = TemporaryFolder()
    let arguments = [path, keyFile.write("key", Keys.rawText)]
    #expect(try Program.run(Program.helper, ["create"] + arguments).lines == ["ok"])
    let connection = try Connection.open(path, key: Keys.raw)
    try connection.execute("PRAGMA user_version = 1000")
    try connection.close()
    let before = folder.contents
    for command in ["open", "create", "read", "open"] {
      #expect(try Program.run(Program.helper, [command] + arguments).lines == ["schemaTooNew"])
    }
    #expect(folder.contents == before)
  }
}
