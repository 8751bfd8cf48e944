#if canImport(Security)
  import Foundation
  import Security

  /// Keeps a key in the Keychain: readable after the first unlock, on this device only, in no backup.
  public struct KeychainKeyStore: EncryptionKeyStore {
    private let service: String
    private let accessGroup: String?
    private let makesSaltedKeys: Bool

    /// - Parameters:
    ///   - service: the name of the items.
    ///   - accessGroup: the Keychain group that app and extension share; nil keeps the key to this program.
    ///   - makesSaltedKeys: whether ``create()`` makes keys with a salt, as a store with a readable header needs them.
    public init(service: String, accessGroup: String? = nil, makesSaltedKeys: Bool = false) {
      self.service = service
      self.accessGroup = accessGroup
      self.makesSaltedKeys = makesSaltedKeys
    }

    private enum Account: String {
      case current
      case staged
    }

    public func load() throws -> StoredKeys {
      let staged = try read(.staged)
      guard let current = try read(.current) ?? staged else {
        throw DatabaseError(.keyNotFound, "the Keychain holds no key of the service \(service)")
      }
      return StoredKeys(current: current, staged: staged == current ? nil : staged)
    }

    public func create() throws -> EncryptionKey {
      let key = EncryptionKey.random(salted: makesSaltedKeys)
      try add(key, .current)
      return key
    }

    public func stage(_ new: EncryptionKey) throws {
      try new.requireReadingBack()
      if let staged = try read(.staged) {
        guard staged == new else {
          throw DatabaseError(
            .alreadyExists,
            "another key is staged in the Keychain by a rotation that was cut short: finish that one first")
        }
        return
      }
      try add(new, .staged)
    }

    public func promote() throws {
      guard let staged = try read(.staged) else { return }
      try staged.withUnsafeBytes { bytes in
        let status = SecItemUpdate(query(.current) as CFDictionary, [kSecValueData: Data(bytes)] as CFDictionary)
        // Somebody removed the current one: the staged one is all there is.
        if status == errSecItemNotFound { return try add(staged, .current) }
        guard status == errSecSuccess else { throw Self.error(status) }
      }
      try discard()
    }

    public func discard() throws {
      let status = SecItemDelete(query(.staged) as CFDictionary)
      guard status == errSecSuccess || status == errSecItemNotFound else { throw Self.error(status) }
    }

    private func query(_ account: Account) -> [CFString: Any] {
      var query: [CFString: Any] = [
        kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: account.rawValue,
        // On macOS the other Keychain knows neither accessibility nor "this device only".
        kSecUseDataProtectionKeychain: true,
      ]
      if let accessGroup { query[kSecAttrAccessGroup] = accessGroup }
      return query
    }

    private func read(_ account: Account) throws -> EncryptionKey? {
      var found: CFTypeRef?
      let status = SecItemCopyMatching(
        query(account).merging([kSecReturnData: true, kSecMatchLimit: kSecMatchLimitOne]) { $1 } as CFDictionary, &found
      )
      if status == errSecItemNotFound { return nil }
      guard status == errSecSuccess, let data = found as? Data else { throw Self.error(status) }
      return try EncryptionKey(bytes: data)
    }

    private func add(_ key: EncryptionKey, _ account: Account) throws {
      try key.withUnsafeBytes { bytes in
        let item = query(account).merging([
          kSecValueData: Data(bytes), kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]) { $1 }
        let status = SecItemAdd(item as CFDictionary, nil)
        guard status == errSecSuccess else { throw Self.error(status) }
      }
    }

    private static func error(_ status: OSStatus) -> DatabaseError {
      switch status {
      case errSecDuplicateItem: DatabaseError(.alreadyExists, "the Keychain holds such a key already")
      case errSecInteractionNotAllowed:
        DatabaseError(.keyUnavailable, "the Keychain is locked until the device is unlocked once after its start")
      default:
        DatabaseError(.keyUnavailable, "the Keychain cannot be used now (OSStatus \(status)): check the access group")
      }
    }
  }
#endif
