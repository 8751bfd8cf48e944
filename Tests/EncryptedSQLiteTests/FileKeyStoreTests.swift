import EncryptedSQLite
import Foundation
import TestSupport
import Testing

@Suite struct FileKeyStoreTests {
  private let folder = TemporaryFolder()
  private var store: FileKeyStore { FileKeyStore(path: folder.path("key")) }

  @Test func anAbsentKeyIsNotFound() {
    #expect(Keys.error { _ = try store.load() } == .keyNotFound)
    #expect(folder.names == [])
  }

  @Test func aKeyIsMadeOnce() throws {
    let key = try store.create()
    #expect(key.kind == .rawKey)
    #expect(try store.load() == StoredKeys(current: key))
    #expect(Keys.error { _ = try store.create() } == .alreadyExists)
    #expect(try store.load().current == key)
    let mode = try FileManager.default.attributesOfItem(atPath: store.path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func aStagedKeyIsPromoted() throws {
    let old = try store.create()
    try store.stage(Keys.passphrase)
    #expect(try store.load() == StoredKeys(current: old, staged: Keys.passphrase))
    try store.promote()
    #expect(try store.load() == StoredKeys(current: Keys.passphrase))
    #expect(folder.names == ["key"])
  }

  @Test func aStagedKeyIsDiscarded() throws {
    let old = try store.create()
    try store.stage(Keys.passphrase)
    try store.discard()
    #expect(try store.load() == StoredKeys(current: old))
    #expect(folder.names == ["key"])
  }

  @Test func theSameKeyMayBeStagedTwiceAndAnotherMayNot() throws {
    _ = try store.create()
    try store.stage(Keys.passphrase)
    try store.stage(Keys.passphrase)
    #expect(Keys.error { try store.stage(Keys.wrong) } == .alreadyExists)
    #expect(try store.load().staged == Keys.passphrase)
  }

  @Test func withoutAStagedKeyNothingHappens() throws {
    let key = try store.create()
    try store.promote()
    try store.discard()
    #expect(try store.load() == StoredKeys(current: key))
  }

  @Test func aStagedKeyWhoseCurrentOneIsGoneIsTheKey() throws {
    try store.stage(Keys.passphrase)
    #expect(try store.load() == StoredKeys(current: Keys.passphrase))
  }

  @Test func confirmingMakesTheKeyCurrentWhateverHappenedToTheStagedOne() throws {
    _ = try store.create()
    try store.stage(Keys.passphrase)
    try store.discard()
    try store.confirm(Keys.passphrase)
    #expect(try store.load() == StoredKeys(current: Keys.passphrase))
    try store.confirm(Keys.passphrase)
    #expect(try store.load() == StoredKeys(current: Keys.passphrase))
  }

  @Test func aFileThatOthersCanReadIsRefused() throws {
    _ = folder.write("key", Keys.rawText, mode: 0o644)
    #expect(Keys.error { _ = try store.load() } == .keyExposed)
    _ = folder.write("key2", Keys.rawText)
    _ = folder.write("key2.staged", Keys.rawText, mode: 0o640)
    #expect(Keys.error { _ = try FileKeyStore(path: folder.path("key2")).load() } == .keyExposed)
  }
}
