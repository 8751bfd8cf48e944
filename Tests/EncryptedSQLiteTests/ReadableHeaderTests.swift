import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// Files whose first 32 bytes are in the clear.
@Suite(.enabled(if: ReadableHeader.isAvailable, "it takes SQLCipher 4"))
struct ReadableHeaderTests {
  let folder = TemporaryFolder()
  var path: String { folder.path("store.db") }
  private var copy: String { folder.path("copy.db") }
  static let otherText = "x'" + String(repeating: "6", count: 96) + "'"
  /// Keys that bring no salt.
  static let unsalted = [Keys.rawText, String(Keys.saltedText.prefix(66)) + "'", Keys.passphraseText]

  private func make(_ texts: [String] = ["one", "two"]) throws {
    try SmallStore.make(path, Keys.salted, texts, hasReadableHeader: true)
  }

  private func failure(_ body: () throws -> Void) -> DatabaseError? {
    do { try body() } catch let error as DatabaseError { return error } catch {}
    return nil
  }

  // MARK: Making and opening

  @Test("The first 32 bytes tell the format, the mode and the size, and nothing else of the file is readable")
  func creation() throws {
    try make((0..<100).map { "a readable text \($0)" })
    #expect(folder.names == ["store.db"])
    #expect(ReadableHeader(path) == .expected(path))
    let bytes = try #require(FileManager.default.contents(atPath: path))
    for text in ["readable", "CREATE", "item"] { #expect(bytes.dropFirst(32).range(of: Data(text.utf8)) == nil) }
    // The salt is the key's alone.
    let salt = Data([0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff])
    #expect(bytes.range(of: salt) == nil)
    let connection = try Connection.open(path, key: Keys.salted)
    #expect(connection.cipher.hasReadableHeader && connection.cipher.generation == 4)
    #expect(!connection.cipher.isOlderThanLibrary)
    #expect(try SmallStore.texts(connection).count == 100)
    try connection.close()
  }

  @Test func aDatabaseMakesOneAndOpensItAgain() throws {
    func open(_ hasReadableHeader: Bool) throws -> Database {
      try Database(
        path: path, key: Keys.salted, options: .init(hasReadableHeader: hasReadableHeader), creating: true
      ) { try $0.execute(SmallStore.schema) }
    }
    // Afterwards the file says it, not the option.
    for (number, isAsked) in [true, false].enumerated() {
      let database = try open(isAsked)
      try database.write { try $0.run("INSERT INTO item (text) VALUES ('row')") }
      #expect(try database.read { try SmallStore.texts($0) }.count == number + 1)
      #expect(database.cipher?.hasReadableHeader == true)
      try database.close()
      #expect(ReadableHeader(path) == .expected(path))
    }
    try FileManager.default.removeItem(atPath: path)
    let plain = try open(false)
    #expect(plain.cipher?.hasReadableHeader == false)
    try plain.close()
    #expect(ReadableHeader(path) == nil)
    let again = try open(true)
    #expect(again.cipher?.hasReadableHeader == false)
    try again.close()
  }

  @Test(arguments: unsalted) func aKeyWithoutSaltMakesNone(_ text: String) throws {
    let error = failure { try SmallStore.make(path, EncryptionKey(text), hasReadableHeader: true) }
    #expect(error?.code == .readableHeaderUnavailable && error?.message.contains("96 hexadecimal digits") == true)
    #expect(folder.names == [])
  }

  static let wrong: [String] = [
    "x'" + String(repeating: "7", count: 64) + String(Keys.saltedText.dropFirst(66)),
    // The salt alone is another.
    String(Keys.saltedText.dropLast(2)) + "0'",
  ]

  @Test(arguments: wrong, ["", "log", "journal"]) func aWrongKey(_ text: String, _ beside: String) throws {
    try make()
    var other: RawSQLite? = RawSQLite.withReadableHeader(path, key: try Keys.salted)
    if beside == "log" { #expect(other?.execute("INSERT INTO item (text) VALUES ('in the log')") == 0) }
    if beside == "journal" {
      #expect(other?.execute("PRAGMA journal_mode = DELETE; BEGIN; UPDATE item SET text = 'x'") == 0)
    } else if beside.isEmpty {
      other = nil
    }
    let before = folder.contents
    for access in [Connection.Access.readOnly, .readWrite] {
      let error = failure { _ = try Connection.open(path, key: EncryptionKey(text), options: .init(access: access)) }
      #expect(error?.code == .wrongKey && error?.message.contains("check the key") == true)
    }
    #expect(folder.contents.filter { !$0.key.hasSuffix("-shm") } == before.filter { !$0.key.hasSuffix("-shm") })
    other = nil
    #expect(try SmallStore.texts(path, Keys.salted).prefix(2) == ["one", "two"])
  }

  @Test(arguments: unsalted) func aKeyWithoutSaltOpensNoneAndSaysWhatIsNeeded(_ text: String) throws {
    try make()
    let before = folder.contents
    let error = failure { _ = try Connection.open(path, key: EncryptionKey(text)) }
    #expect(error?.code == .wrongKey && error?.message.contains("readable header") == true)
    #expect(folder.contents == before)
  }

  @Test func aPlainFileIsStillCalledNotEncrypted() throws {
    _ = RawSQLite(path, settings: "PRAGMA journal_mode = WAL; \(SmallStore.schema)")
    let before = folder.contents
    #expect(Keys.error { _ = try Connection.open(path, key: Keys.salted) } == .notEncrypted)
    #expect(folder.contents == before)
  }

  @Test func aSaltedKeyStillOpensAFileThatHasNone() throws {
    try SmallStore.make(path, Keys.salted)
    let connection = try Connection.open(path, key: Keys.salted)
    #expect(!connection.cipher.hasReadableHeader)
    try connection.close()
  }

  @Test("Damage behind the first page is met as damage, not as a wrong key") func damage() throws {
    try make((0..<400).map { "\($0) " + String(repeating: "x", count: 100) })
    try Damage.flipBit(path, at: 5 * 4096 + 100)
    let connection = try Connection.open(path, key: Keys.salted)
    #expect(Keys.error { _ = try SmallStore.texts(connection) } == .corrupt)
    try connection.close()
  }

  // MARK: Copies

  @Test(arguments: [Keys.saltedText, otherText]) func aBackupHasOneToo(_ text: String) throws {
    try make()
    let key = try EncryptionKey(text)
    _ = try Database.backUp(path, key: Keys.salted, to: copy, backupKey: key)
    #expect(ReadableHeader(copy) == .expected(copy))
    #expect(try SmallStore.texts(copy, key) == ["one", "two"])
  }

  @Test(arguments: unsalted) func aCopyUnderAKeyWithoutSaltIsRefused(_ text: String) throws {
    try make()
    let (before, key) = (folder.contents, try EncryptionKey(text))
    for body in [
      { _ = try Database.backUp(path, key: Keys.salted, to: copy, backupKey: key) },
      { _ = try Database.restore(copy, key: key, from: path, backupKey: Keys.salted) },
      { _ = try Database.rotateEncryptionKey(of: path, from: Keys.salted, to: key) },
      { _ = try Database.rotateEncryptionKey(of: path, from: Keys.salted, to: key, rewriting: true) },
    ] as [() throws -> Void] where try key.kind == .passphrase || !isSame(key) {
      #expect(Keys.error(body) == .readableHeaderUnavailable)
      #expect(folder.contents == before)
    }
  }

  /// The same 256 bits are no other key to a rotation, whatever the salt.
  private func isSame(_ key: EncryptionKey) throws -> Bool {
    key.withUnsafeBytes { String(decoding: $0, as: UTF8.self).prefix(66) } == Keys.saltedText.prefix(66)
  }

  @Test("What is restored is of the kind of the file it replaces, else of the backup's", arguments: [true, false, nil])
  func restoring(_ isReplacedReadable: Bool?) throws {
    for isBackupReadable in [true, false] {
      let backup = folder.path("backup-\(isBackupReadable)")
      try SmallStore.make(backup, EncryptionKey(Self.otherText), ["new"], hasReadableHeader: isBackupReadable)
      let key = isReplacedReadable == false ? try Keys.raw : try Keys.salted
      if let isReplacedReadable {
        try SmallStore.make(path, key, ["old"], hasReadableHeader: isReplacedReadable)
      }
      _ = try Database.restore(path, key: key, from: backup, backupKey: EncryptionKey(Self.otherText))
      let header = ReadableHeader(path)
      #expect(header == (isReplacedReadable ?? isBackupReadable ? .expected(path) : nil))
      #expect(try SmallStore.texts(path, key) == ["new"])
      try FileManager.default.removeItem(atPath: path)
    }
  }

  @Test func anUpgradeHasNothingToDo() throws {
    try make()
    #expect(try Database.upgradeCipher(of: path, key: Keys.salted) == nil)
  }

  // MARK: Rotations

  @Test("A rotation goes by a copy, which has a readable header; asked for again it is confirmed")
  func rotation() throws {
    try make()
    let new = try EncryptionKey(Self.otherText)
    let report = try Database.rotateEncryptionKey(of: path, from: Keys.salted, to: new)
    #expect(report.method == .rewrite && !report.wasDone)
    #expect(ReadableHeader(path) == .expected(path))
    #expect(Keys.error { _ = try Connection.open(path, key: Keys.salted) } == .wrongKey)
    #expect(try SmallStore.texts(path, new) == ["one", "two"])
    #expect(try Database.rotateEncryptionKey(of: path, from: Keys.salted, to: new).wasDone)
    #expect(folder.names == ["store.db"])
  }

  @Test("A file without one gets none by a key with a salt") func rotationOfAnother() throws {
    try SmallStore.make(path, Keys.raw)
    _ = try Database.rotateEncryptionKey(of: path, from: Keys.raw, to: Keys.salted)
    #expect(ReadableHeader(path) == nil)
  }

  @Test func anOpenDatabaseGoesOnUnderTheNewKey() throws {
    try make()
    let database = try SmallStore.open(path, Keys.salted)
    let reader = try SmallStore.open(path, Keys.salted)
    #expect(try reader.read { try SmallStore.texts($0) }.count == 2)
    let new = try EncryptionKey(Self.otherText)
    // The copy cannot take the place of a file that others have open.
    #expect(Keys.error { _ = try database.rotateEncryptionKey(to: new) } == .busy)
    try reader.close()
    #expect(Keys.error { _ = try database.rotateEncryptionKey(to: Keys.raw) } == .readableHeaderUnavailable)
    _ = try database.rotateEncryptionKey(to: new)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('three')") }
    #expect(try database.read { try SmallStore.texts($0) } == ["one", "two", "three"])
    try database.close()
    #expect(ReadableHeader(path) == .expected(path))
  }

  @Test("The previous key opens it, and a rotation that was cut short is finished, or said to be pending")
  func previousKey() throws {
    try make()
    let new = try EncryptionKey(Self.otherText)
    let pending = try Database(path: path, key: Keys.raw, previous: Keys.salted, creating: false) { _ in }
    #expect(pending.isRotationPending)
    #expect(try pending.read { try SmallStore.texts($0) } == ["one", "two"])
    try pending.close()
    let finished = try Database(path: path, key: new, previous: Keys.salted, creating: false) { _ in }
    #expect(!finished.isRotationPending)
    try finished.close()
    #expect(try SmallStore.texts(path, new) == ["one", "two"])
    #expect(ReadableHeader(path) == .expected(path))
  }
}
