import EncryptedSQLite
import Security
import Testing

extension AppleSources {
  @Suite struct Keychain {
    private let store = KeychainKeyStore(service: "study", accessGroup: "TEAM.org.example.shared")

    init() { StubKeychain.clear() }

    @Test("A key that is not there is not found, and one that cannot be read now is unavailable")
    func codes() throws {
      #expect(Keys.error { _ = try store.load() } == .keyNotFound)
      for status in [errSecInteractionNotAllowed, errSecMissingEntitlement, -1] {
        StubKeychain.failure = status
        #expect(Keys.error { _ = try store.load() } == .keyUnavailable)
        #expect(Keys.error { _ = try store.create() } == .keyUnavailable)
        #expect(Keys.error { try store.stage(Keys.raw) } == .keyUnavailable)
        #expect(Keys.error { try store.promote() } == .keyUnavailable)
        #expect(Keys.error { try store.discard() } == .keyUnavailable)
      }
      #expect(StubKeychain.items.isEmpty)
    }

    @Test("A key is made once; another process that was first is told of") func aKeyIsMadeOnce() throws {
      let key = try store.create()
      #expect(key.kind == .rawKey)
      #expect(try store.load() == StoredKeys(current: key))
      #expect(Keys.error { _ = try store.create() } == .alreadyExists)
      #expect(try store.load().current == key)
    }

    @Test("A key is readable after the first unlock, on this device only, and every query names the access group")
    func attributes() throws {
      _ = try store.create()
      try store.stage(Keys.raw)
      try store.promote()
      #expect(StubKeychain.items.count == 1)
      for item in StubKeychain.items {
        #expect(item[kSecAttrAccessible] as? String == kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly)
        #expect(item[kSecClass] as? String == kSecClassGenericPassword)
        #expect(item[kSecAttrService] as? String == "study")
      }
      for query in StubKeychain.queries {
        #expect(query[kSecAttrAccessGroup] as? String == "TEAM.org.example.shared")
        #expect(query[kSecUseDataProtectionKeychain] as? Bool == true)
      }
      StubKeychain.clear()
      _ = try KeychainKeyStore(service: "study").create()
      #expect(StubKeychain.queries.allSatisfy { $0[kSecAttrAccessGroup] == nil })
    }

    @Test("Keys of two services are apart") func services() throws {
      let key = try store.create()
      let other = KeychainKeyStore(service: "other", accessGroup: "TEAM.org.example.shared")
      #expect(Keys.error { _ = try other.load() } == .keyNotFound)
      #expect(try other.create() != key)
      #expect(try store.load().current == key)
    }

    @Test("A staged key is promoted, or discarded") func staging() throws {
      let old = try store.create()
      try store.stage(Keys.passphrase)
      try store.stage(Keys.passphrase)
      #expect(Keys.error { try store.stage(Keys.wrong) } == .alreadyExists)
      #expect(try store.load() == StoredKeys(current: old, staged: Keys.passphrase))
      try store.discard()
      #expect(try store.load() == StoredKeys(current: old))
      try store.stage(Keys.passphrase)
      try store.promote()
      #expect(try store.load() == StoredKeys(current: Keys.passphrase))
      try store.promote()
      try store.discard()
      #expect(try store.load() == StoredKeys(current: Keys.passphrase))
      #expect(StubKeychain.items.count == 1)
    }

    @Test("A staged key whose current one is gone is the key, and becomes the current one") func currentGone() throws {
      try store.stage(Keys.passphrase)
      #expect(try store.load() == StoredKeys(current: Keys.passphrase))
      try store.promote()
      #expect(try store.load() == StoredKeys(current: Keys.passphrase))
      #expect(StubKeychain.items.map { $0[kSecAttrAccount] as? String } == ["current"])
      #expect(
        StubKeychain.items[0][kSecAttrAccessible] as? String == kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly)
    }
  }
}
