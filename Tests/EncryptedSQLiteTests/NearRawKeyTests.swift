import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// What becomes of a key that is almost a raw key.
@Suite struct NearRawKeyTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path("store") }
  private static let text = Keys.nearRaw[0].text
  private var near: EncryptionKey { get throws { try EncryptionKey(Self.text) } }
  private var asked: EncryptionKey { get throws { try EncryptionKey.passphrase(Self.text) } }

  @Test("No file is made under it, unless it is asked for", arguments: Keys.nearRaw)
  func creating(_ near: NamedText) throws {
    let key = try EncryptionKey(near.text)
    #expect(Keys.error { try SmallStore.make(path, key) } == .invalidRawKey)
    #expect(Keys.error { _ = try SmallStore.open(path, key) } == .invalidRawKey)
    #expect(folder.names.isEmpty)
    try SmallStore.make(path, EncryptionKey.passphrase(near.text))
    #expect(try SmallStore.texts(path, key) == ["one", "two"])
  }

  @Test("A file that does not open with it tells so, and other keys are wrong as ever")
  func opening() throws {
    try SmallStore.make(path, Keys.raw)
    let before = folder.contents
    #expect(Keys.error { _ = try Connection.open(path, key: near) } == .invalidRawKey)
    #expect(Keys.error { _ = try SmallStore.open(path, near) } == .invalidRawKey)
    #expect(Keys.error { _ = try Connection.open(path, key: asked) } == .wrongKey)
    #expect(throws: (any Error).self) { try Connection.open(path, key: near) }
    #expect {
      try Connection.open(path, key: near)
    } throws: {
      !"\($0)".contains("0123") && !"\($0)".contains("passphrase(_:)")
    }
    #expect(folder.contents == before)
  }

  @Test("It does not become a file's key by a rotation, and such a file is rotated to another key")
  func rotation() throws {
    try SmallStore.make(path, Keys.raw)
    let before = folder.contents
    #expect(Keys.error { _ = try Database.rotateEncryptionKey(of: path, from: Keys.raw, to: near) } == .invalidRawKey)
    let database = try SmallStore.open(path, Keys.raw)
    #expect(Keys.error { _ = try database.rotateEncryptionKey(to: near) } == .invalidRawKey)
    try database.close()
    #expect(try SmallStore.texts(path, Keys.raw) == ["one", "two"])
    #expect(folder.names == Array(before.keys))
    _ = try Database.rotateEncryptionKey(of: path, from: Keys.raw, to: asked)
    #expect(try !Database.rotateEncryptionKey(of: path, from: near, to: Keys.raw).wasDone)
    #expect(try Database.rotateEncryptionKey(of: path, from: near, to: Keys.raw).wasDone)
  }

  @Test("As the key of an unfinished rotation it is refused; as the previous one it opens")
  func previous() throws {
    func open(_ key: EncryptionKey, _ previous: EncryptionKey) throws -> Database {
      try Database(path: path, key: key, previous: previous, creating: false) { _ in }
    }
    try SmallStore.make(path, Keys.raw)
    #expect(Keys.error { _ = try open(near, Keys.raw) } == .invalidRawKey)
    #expect(try SmallStore.texts(path, Keys.raw) == ["one", "two"])
    _ = try Database.rotateEncryptionKey(of: path, from: Keys.raw, to: asked)
    try open(Keys.raw, near).close()
    #expect(try SmallStore.texts(path, Keys.raw) == ["one", "two"])
  }

  @Test("A connection under it notices that the file was rotated")
  func rotatedUnderneath() throws {
    try SmallStore.make(path, asked)
    let database = try SmallStore.open(path, near)
    _ = try Database.rotateEncryptionKey(of: path, from: asked, to: Keys.raw)
    #expect(Keys.error { _ = try database.read { try SmallStore.texts($0) } } == .keyChanged)
  }

  @Test("A copy is under it only where the file is")
  func copies() throws {
    try SmallStore.make(path, Keys.raw)
    let copy = folder.path("copy")
    #expect(
      Keys.error { _ = try Database.backUp(path, key: Keys.raw, to: copy, backupKey: near) } == .invalidRawKey)
    #expect(folder.names == ["store"])
    _ = try Database.backUp(path, key: Keys.raw, to: copy, backupKey: asked)
    #expect(try SmallStore.texts(copy, near) == ["one", "two"])
    let restored = folder.path("restored")
    #expect(
      Keys.error { _ = try Database.restore(restored, key: near, from: path, backupKey: Keys.raw) } == .invalidRawKey)
    #expect(!folder.names.contains("restored"))
    _ = try Database.restore(restored, key: near, from: copy)
    #expect(try SmallStore.texts(restored, near) == ["one", "two"])
  }

  @Test("A key file does not take words that would read back as it, and reads them where that is asked for")
  func keyFiles() throws {
    let file = folder.path("key")
    #expect(Keys.error { try KeyFile.create(file, asked) } == .invalidRawKey)
    #expect(Keys.error { try FileKeyStore(path: file).stage(asked) } == .invalidRawKey)
    #expect(folder.names.isEmpty)
    _ = folder.write("key", Self.text)
    #expect(try KeyFile.read(file).resemblesRawKey)
    #expect(try !KeyFile.read(file, isPassphrase: true).resemblesRawKey)
    _ = folder.write("malformed", "x'correct horse'")
    #expect(Keys.error { _ = try KeyFile.read(folder.path("malformed")) } == .invalidRawKey)
    #expect(try KeyFile.read(folder.path("malformed"), isPassphrase: true).kind == .passphrase)
    _ = folder.write("raw", Keys.rawText)
    #expect(try KeyFile.read(folder.path("raw"), isPassphrase: true) == Keys.raw)
  }
}
