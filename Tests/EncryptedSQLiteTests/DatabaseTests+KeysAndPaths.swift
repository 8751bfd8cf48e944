import EncryptedSQLite
import Foundation
import TestSupport
import Testing

extension DatabaseTests {
  static let keys: [String] = [
    Keys.rawText, Keys.saltedText, "X'" + String(repeating: "AB", count: 32) + "'", "k", " ",
    "  leading and trailing  ",
    "it's", "\"quoted\"", "'; DROP TABLE item; --", "back\\slash\\", "\0", "a\0b", "a\0c", "🔑👩‍👩‍👧", "line\nbreak\r\n",
    String(repeating: "0123456789", count: 1000),
  ]

  @Test("Made, opened again and read, under keys of every kind", arguments: keys.indices)
  func keyMatrix(_ index: Int) throws {
    let key = try EncryptionKey(Self.keys[index])
    let database = try SmallStore.open(path, key)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('kept')") }
    try database.close()
    #expect(try SmallStore.texts(path, key) == ["kept"])
  }

  /// Zero bytes at the end are the exception: PBKDF2's HMAC pads a short key with them (RFC 2104, section 2).
  @Test("Keys that differ after a NUL, or in their last byte alone, are different keys")
  func everyByteCounts() throws {
    let long = String(repeating: "0123456789", count: 1000)
    for (index, (right, wrong)) in [("a\0b", "a\0c"), ("a\0b", "a"), (long, String(long.dropLast())), ("k", "K")]
      .enumerated()
    {
      let path = folder.path("store-\(index)")
      try SmallStore.make(path, EncryptionKey(right))
      #expect(Keys.error { _ = try Connection.open(path, key: EncryptionKey(wrong)) } == .wrongKey)
    }
  }

  static let names: [String] = [
    "with space", " leading", "it's", "\"quoted\"", "100%", "%41", "what?", "a?mode=memory&cache=shared", "file:store",
    "#1", "back\\slash", "🔔 ü e\u{301}", "-dash", "--help", "semi;colon", "new\nline", ":memory:", "s.new-1-a", "s",
    String(repeating: "n", count: 200),
  ]

  @Test("Made, opened again and read, under names of every kind", arguments: names)
  func nameMatrix(_ name: String) throws {
    let database = try SmallStore.open(folder.path(name), Keys.raw)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('kept')") }
    try database.close()
    #expect(folder.names == [name])
    #expect(try SmallStore.texts(folder.path(name), Keys.raw) == ["kept"])
    #expect(Keys.error { _ = try Connection.open(folder.path(name), key: Keys.wrong) } == .wrongKey)
    #expect(folder.names == [name])
  }

  @Test("A plain file is recognised under any name", arguments: names)
  func plainNameMatrix(_ name: String) throws {
    _ = RawSQLite(path, settings: SmallStore.schema)
    #expect(rename(path, folder.path(name)) == 0)
    #expect(Keys.error { _ = try Connection.open(folder.path(name), key: Keys.raw) } == .notEncrypted)
    #expect(folder.names == [name])
  }

  @Test("In a folder of a difficult name")
  func difficultFolder() throws {
    let name = folder.path("it's 100% #1?")
    try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: false)
    try SmallStore.make(name + "/store", Keys.raw)
    #expect(try SmallStore.texts(name + "//store", Keys.raw) == ["one", "two"])
    #expect(try SmallStore.texts(name + "/../it's 100% #1?/store", Keys.raw) == ["one", "two"])
  }

  @Test(
    "Relative paths, in a process with a working directory of its own",
    arguments: ["s", "store.db", "./store.db", "-dash", ":memory:", "file:store", "sub/store", "../up"])
  func relativePath(_ relative: String) throws {
    let work = folder.path("work")
    try FileManager.default.createDirectory(atPath: work + "/sub", withIntermediateDirectories: true)
    let keyFolder = TemporaryFolder()
    let key = keyFolder.write("key", Keys.rawText)
    for command in [["create"], ["open"], ["read"], ["insert"]] {
      let count = command == ["insert"] ? ["3"] : []
      let result = try Program.run(Program.helper, command + [relative, key] + count, folder: work)
      #expect(result.lines == ["ok"], "\(command) \(result.errors)")
    }
    let connection = try Connection.open(work + "/" + relative, key: Keys.raw)
    #expect(try connection.integer("SELECT count(*) FROM ios_silent_push") == 3)
    try connection.close()
    let files = FileManager.default.subpaths(atPath: folder.path)?.filter { $0 != "work" && $0 != "work/sub" }
    #expect(files?.count == 1)
  }

  @Test("A symbolic link to a store opens the store")
  func symbolicLink() throws {
    try SmallStore.make(path, Keys.raw)
    try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: path)
    let database = try SmallStore.open(folder.path("link"), Keys.raw)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('three')") }
    // A reader beside it finds the log where it is.
    let reader = try Connection.open(folder.path("link"), key: Keys.raw, options: .init(access: .readOnly))
    #expect(reader.path == path)
    #expect(try SmallStore.texts(reader) == ["one", "two", "three"])
    try reader.close()
    #expect(folder.names == ["link", "store", "store-shm", "store-wal"])
    try database.close()
    #expect(try SmallStore.texts(path, Keys.raw) == ["one", "two", "three"])
    #expect(folder.names == ["link", "store"])
  }

  @Test("A log beside a link is not the store's, and that of a store is found through a link")
  func logsBesideLinks() throws {
    let other = TemporaryFolder()
    let link = other.path("link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    _ = other.write("link-wal", "somebody's")
    try SmallStore.make(path, Keys.raw)
    try Connection.open(link, key: Keys.raw, options: .init(access: .readOnly)).close()
    #expect(folder.names == ["store"])
    try FileManager.default.removeItem(atPath: path)
    _ = folder.write("store-wal", "left over")
    let inFolder = TemporaryFolder()
    try FileManager.default.createSymbolicLink(atPath: inFolder.path("folder"), withDestinationPath: folder.path)
    #expect(Keys.error { try SmallStore.make(inFolder.path("folder/store"), Keys.raw) } == .alreadyExists)
    #expect(folder.names == ["store-wal"])
  }

  @Test("A new store in a folder reached through a link, and one whose link is turned elsewhere later")
  func linkedFolder() throws {
    let other = TemporaryFolder()
    let link = other.path("folder")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path)
    let database = try SmallStore.open(link + "/store", Keys.raw)
    #expect(database.path == path)
    try FileManager.default.removeItem(atPath: link)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('one')") }
    try database.close()
    #expect(try SmallStore.texts(path, Keys.raw) == ["one"])
  }

  @Test("Slashes more than one at the start of a path", arguments: ["/", "//"])
  func slashes(_ more: String) throws {
    try SmallStore.make(more + path, Keys.raw)
    #expect(try SmallStore.texts(more + path, Keys.raw) == ["one", "two"])
    _ = RawSQLite(folder.path("plain"), settings: SmallStore.schema)
    #expect(Keys.error { _ = try Connection.open(more + folder.path("plain"), key: Keys.raw) } == .notEncrypted)
  }
}
