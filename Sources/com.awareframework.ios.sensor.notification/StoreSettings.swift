import EncryptedSQLite
import Foundation
import NotificationStore

/// Which store a configuration asks for.
///
/// - Note: `@unchecked Sendable`: every property of a `Config` may be read on any thread, and so may user defaults; nothing
///   here changes.
package struct StoreSettings: @unchecked Sendable {
  private let config: NotificationSensor.Config
  private let keys: ConfiguredKeys
  private let group: AppGroup?
  private let publicSensor: PublicSensorDefaults
  /// Called after each deletion by age of the store that is opened.
  var reportExpiry: @Sendable (Result<Int, DatabaseError>) -> Void = { _ in }

  /// - Parameter publicSensor: where the public sensor keeps its cursor and its device id.
  /// - Returns: nil when nothing is to be stored, by choice.
  /// - Throws: `invalidConfiguration`, `emptyKey`, `invalidRawKey`; no file has been touched.
  package init?(_ config: NotificationSensor.Config) throws { try self.init(config, publicSensor: .init()) }

  init?(_ config: NotificationSensor.Config, publicSensor: PublicSensorDefaults) throws {
    // Also where nothing is stored: a group that is not there is a mistake.
    group = try Self.group(config)
    switch (config.dbType, try ConfiguredKeys(config)) {
    case (.none, nil): return nil
    case (.none, _?):
      throw DatabaseError(
        .invalidConfiguration,
        "dbEncryptionKey is set and dbType is NONE, so nothing would be stored: set dbType to sqlite, or remove the key"
      )
    case (.sqlite, nil):
      throw DatabaseError(
        .invalidConfiguration,
        "dbType is sqlite and there is no dbEncryptionKey, and nothing is stored unencrypted: set the key, or set dbType to NONE"
      )
    case (.sqlite, let keys?):
      self.config = config
      self.keys = keys
      self.publicSensor = publicSensor
    }
  }

  private static func group(_ config: NotificationSensor.Config) throws -> AppGroup? {
    do {
      return try config.appGroupIdentifier.map { try AppGroup($0) }
    } catch let error as DatabaseError {
      throw DatabaseError(.invalidConfiguration, error.message)
    }
  }

  /// What the app and its extensions share.
  package var sharedSettings: SharedSettings? { group.map { SharedSettings($0) } }

  package func path() throws -> String { try StoreLocation.path(config.dbPath, in: group) }

  /// Opens the store, or makes it; takes a plaintext store of the public sensor over, and finishes a rotation that was cut
  /// short.
  ///
  /// - Parameter report: is told of what keeps these from their end, but not the store from being used.
  func open(report: (DatabaseError) -> Void = { _ in }) throws -> NotificationStore {
    try open(leavingSpool: false, report: report)
  }

  private func open(leavingSpool: Bool, report: (DatabaseError) -> Void) throws -> NotificationStore {
    let path = try self.path()
    let (key, previous) = try keys.load(for: path)
    let deviceId = config.deviceId.isEmpty ? CommonDeviceID.current : config.deviceId
    if config.plaintextStorePolicy == .adopt {
      do {
        try adopt(at: path, key, deviceId ?? publicSensor.deviceId, report)
        try adoptIntoGroup(path, key, deviceId ?? publicSensor.deviceId, report)
      } catch let error as DatabaseError where FileSystem.size(path) > 0 && !PlaintextStore.isPlaintext(at: path) {
        // The encrypted store is there, and only the plaintext's end is not: no reason to lose records.
        report(error)
      }
    }
    try moveIntoGroup(path, key, previous, report)
    var configuration = configuration(path, key, previous, deviceId)
    configuration.leavesSpool = leavingSpool
    configuration.reportExpiry = reportExpiry
    var store = try NotificationStore(configuration)
    if store.database.cipher?.isOlderThanLibrary == true { store = try upgraded(store, key, report) }
    FileProtection.apply(to: path)
    if config.deviceId.isEmpty { CommonDeviceID.share(store.deviceId) }
    store.spool.faults.forEach(report)
    share(deviceId ?? store.deviceId, report)
    if key.resemblesRawKey {
      report(
        DatabaseError(
          .invalidRawKey,
          "\(path) is open, and its key is a \(key.kindInWords): it may be a raw key that was damaged, so give the store "
            + "another key"))
    }
    if store.isRotationPending {
      report(
        DatabaseError(
          .rotationPending,
          "\(path) is still under its previous key, for a rotation could not be finished now: the next opening tries again"
        ))
    } else if !store.spool.isSomethingLeft {
      do { try keys.confirm(key) } catch { report(DatabaseError(describing: error)) }
    }
    return store
  }

  private func configuration(
    _ path: String, _ key: EncryptionKey, _ previous: EncryptionKey?, _ deviceId: String?
  ) -> NotificationStore.Configuration {
    NotificationStore.Configuration(
      path: path, key: key, previousKey: previous, hasReadableHeader: hasReadableHeader(key),
      synchronous: config.synchronous, maximumAge: config.maximumAge, deviceId: deviceId)
  }

  /// iOS ends a suspended app for a lock on a file of a shared container, unless it sees that the file is SQLite's. A new
  /// store shows that where it can.
  private func hasReadableHeader(_ key: EncryptionKey) -> Bool {
    group != nil && key.kind == .rawKeyWithSalt && Connection.librarySupportsReadableHeaders
  }

  /// The public sensor knows no groups: its store stands in the app's own folder.
  private func adoptIntoGroup(
    _ path: String, _ key: EncryptionKey, _ deviceId: String?, _ report: (DatabaseError) -> Void
  ) throws {
    guard group != nil, !config.dbPath.hasPrefix("/") else { return }
    let old = try StoreLocation.path(config.dbPath)
    guard PlaintextStore.needsAdoption(at: old) else { return }
    try adopt(at: old, into: path, key, deviceId, report)
  }

  /// With the public sensor's cursors. One that is of another file is no reason to lose records, and is reported.
  private func adopt(
    at source: String, into destination: String? = nil, _ key: EncryptionKey, _ deviceId: String?,
    _ report: (DatabaseError) -> Void
  ) throws {
    let adopted = try PlaintextStore.adopt(
      at: source, into: destination, key: key, deviceId: deviceId, syncedThrough: publicSensor.syncedThrough,
      ignoringForeignCursors: true, hasReadableHeader: hasReadableHeader(key))
    adopted?.ignoredCursors.forEach(report)
  }

  /// A store from before the group was configured stands in the app's own folder: it moves, with all that waits beside it.
  ///
  /// - Throws: what stands in the way; no store is made in the group then, which would hide the old one.
  private func moveIntoGroup(
    _ path: String, _ key: EncryptionKey, _ previous: EncryptionKey?, _ report: (DatabaseError) -> Void
  ) throws {
    guard group != nil, !config.dbPath.hasPrefix("/") else { return }
    let old = try StoreLocation.path(config.dbPath)
    guard old != path, try FileStatus(old) != nil, !PlaintextStore.isPlaintext(at: old) else { return }
    if try FileStatus(path) == nil {
      // Finishes a rotation, and imports what waits there.
      let store = try NotificationStore(.init(path: old, key: key, previousKey: previous, creating: false))
      try store.close()
      try store.spool.requireNothingLeft()
      _ = try NotificationStore.restore(path, key: key, from: old)
    } else if try !NotificationStore.holdsAll(path, of: old, key: key) {
      return report(
        DatabaseError(
          .alreadyExists,
          "the store in the app group is in use, and \(old) has records that it lacks: give that one a dbPath of its own, or "
            + "move it away"))
    }
    do {
      // What no key at hand opens: the new store reports it. Until it has moved, the old one stays, so that it is looked for.
      try NotificationSpool(besideStore: old).move(toStore: path)
      try NotificationStore.remove(old, key: key, heldIn: path)
    } catch {
      // In use, or written to since: it stays, and the next opening tries again.
      report(DatabaseError(describing: error))
    }
  }

  /// Tells the extension what it needs to know.
  func share(_ deviceId: String, _ report: (DatabaseError) -> Void) {
    do {
      try sharedSettings?.share(
        deviceId: deviceId, label: config.label, host: config.dbHost, deliveryReceiptURL: config.deliveryReceiptURL)
    } catch {
      report(DatabaseError(describing: error))
    }
  }

  /// Opens the store for a moment beside the app: no file is made, no plaintext taken over, no schema or key changed.
  ///
  /// - Throws: `notFound`, `migrationNeeded`, and what opening throws.
  package func openAsGuest() throws -> NotificationStore {
    let path = try self.path()
    let (key, previous) = try keys.loadExisting()
    func open(_ key: EncryptionKey) throws -> NotificationStore {
      var configuration = NotificationStore.Configuration(
        path: path, key: key, creating: false, synchronous: config.synchronous)
      configuration.isGuest = true
      let store = try NotificationStore(configuration)
      FileProtection.apply(to: path)
      return store
    }
    do {
      return try open(key)
    } catch let error as DatabaseError where error.isOfKey {
      guard let previous else { throw error }
      return try open(previous)
    }
  }

  /// Keeps pushes in the store's spool. See ``NotificationStore/NotificationSpool/append(_:key:protect:)``.
  package func spool(_ pushes: [[SpoolEntry]]) throws -> Int {
    let path = try FileSystem.absolute(self.path())
    return try NotificationSpool(besideStore: path).append(
      pushes, key: keys.loadExisting().key, protect: FileProtection.protect)
  }

  /// A store in the format of an older SQLCipher: upgraded where that is configured, and used as it is otherwise.
  private func upgraded(
    _ store: NotificationStore, _ key: EncryptionKey, _ report: (DatabaseError) -> Void
  ) throws -> NotificationStore {
    guard config.legacyCipherPolicy == .upgrade, !store.isRotationPending else { return store }
    let configuration = store.configuration
    try store.close()
    do {
      _ = try Database.upgradeCipher(of: configuration.path, key: key)
    } catch let error as DatabaseError {
      // Another process has it open, or the disk is full: no reason to lose records.
      report(error)
    }
    return try NotificationStore(configuration)
  }

  /// Puts a copy of the backup at `path` in the place of the store. It may be under the previous key, as one is that was
  /// made before a rotation.
  ///
  /// - Parameter backupKey: the backup's key, where it is neither.
  func restore(from path: String, backupKey: EncryptionKey?) throws -> BackupReport {
    let store = try self.path()
    // Adopts, and finishes a rotation, so that one key fits; a backup is not a reason to make a key.
    // What waits in the spool is left for the store that is put there.
    if try FileStatus(store) != nil { try open(leavingSpool: true) { _ in }.close() }
    let (key, previous) = try keys.loadExisting()
    do {
      return try NotificationStore.restore(store, key: key, from: path, backupKey: backupKey)
    } catch let error as DatabaseError where error.isOfKey && backupKey == nil {
      guard let previous else { throw error }
      return try NotificationStore.restore(store, key: key, from: path, backupKey: previous)
    }
  }
}

/// The keys that a configuration gives: directly, or by a key store.
enum ConfiguredKeys {
  case given(EncryptionKey, previous: EncryptionKey?)
  case kept(any EncryptionKeyStore)

  /// - Returns: nil when the configuration has no key.
  init?(_ config: NotificationSensor.Config) throws {
    let key = try config.encryptionKey ?? config.dbEncryptionKey.map { try EncryptionKey($0) }
    switch (key, config.encryptionKeyStore) {
    case (nil, nil): return nil
    case (let key?, nil):
      let previous = try config.previousEncryptionKey ?? config.dbPreviousEncryptionKey.map { try EncryptionKey($0) }
      self = .given(key, previous: previous)
    case (nil, let keyStore?): self = .kept(keyStore)
    case (_?, _?):
      throw DatabaseError(
        .invalidConfiguration, "both dbEncryptionKey and encryptionKeyStore are set: set one, as a store has one key")
    }
  }

  /// The key to open the store at `path` with, and the one that may still be in force. A key is made only where there is
  /// neither a key nor a store.
  ///
  /// - Throws: `keyLost`, `keyUnavailable`, `keyExposed`.
  func load(for path: String) throws -> (key: EncryptionKey, previous: EncryptionKey?) {
    do {
      return try loadExisting()
    } catch let error as DatabaseError where error.code == .keyNotFound {
      guard case .kept(let keyStore) = self else { throw error }
      // What cannot be looked at may be a store.
      guard try FileStatus(path) == nil && FileStatus(path + "-wal") == nil || PlaintextStore.isPlaintext(at: path)
      else {
        throw DatabaseError(
          .keyLost,
          "\(path) is there and its key is not (\(error.message)): bring the key back; without it the records are lost, and "
            + "only by moving the file away does a new store begin")
      }
      do {
        return (try keyStore.create(), nil)
      } catch let error as DatabaseError where error.code == .alreadyExists {
        // Another process of this app was first.
        return try loadExisting()
      }
    }
  }

  /// As ``load(for:)``, and never makes one.
  func loadExisting() throws -> (key: EncryptionKey, previous: EncryptionKey?) {
    switch self {
    case .given(let key, let previous): return (key, previous)
    case .kept(let keyStore):
      let keys = try keyStore.load()
      // What is staged is where a rotation was going.
      return keys.staged.map { ($0, keys.current) } ?? (keys.current, nil)
    }
  }

  /// The key to open with has opened the store, and that is on the medium: a key store keeps no other.
  func confirm(_ key: EncryptionKey) throws {
    if case .kept(let keyStore) = self { try keyStore.confirm(key) }
  }
}
