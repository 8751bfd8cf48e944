import EncryptedSQLite
import Foundation
import NotificationStore

/// Which store a configuration asks for.
struct StoreSettings {
  private let config: NotificationSensor.Config
  private let key: EncryptionKey
  private let publicSensor: PublicSensorDefaults

  /// - Parameter publicSensor: where the public sensor keeps its cursor and its device id.
  /// - Returns: nil when nothing is to be stored, by choice.
  /// - Throws: `invalidConfiguration`, `emptyKey`, `invalidRawKey`; no file has been touched.
  init?(_ config: NotificationSensor.Config, publicSensor: PublicSensorDefaults = .init()) throws {
    self.publicSensor = publicSensor
    let key = try config.encryptionKey ?? config.dbEncryptionKey.map { try EncryptionKey($0) }
    switch (config.dbType, key) {
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
    case (.sqlite, let key?):
      self.key = key
      self.config = config
    }
  }

  /// Opens the store, or makes it; takes a plaintext store of the public sensor over first.
  ///
  /// - Parameter report: is told of what keeps an interrupted adoption from its end, but not the store from being used.
  func open(report: (DatabaseError) -> Void = { _ in }) throws -> NotificationStore {
    let path = try StoreLocation.path(config.dbPath)
    let deviceId = config.deviceId.isEmpty ? CommonDeviceID.current : config.deviceId
    if config.plaintextStorePolicy == .adopt {
      do {
        _ = try PlaintextStore.adopt(
          at: path, key: key, deviceId: deviceId ?? publicSensor.deviceId, syncedThrough: publicSensor.syncedThrough)
      } catch let error as DatabaseError where FileSystem.size(path) > 0 && !PlaintextStore.isPlaintext(at: path) {
        // The encrypted store is there, and only the plaintext's end is not: no reason to lose records.
        report(error)
      }
    }
    let store = try NotificationStore(
      .init(
        path: path, key: key, synchronous: config.synchronous, maximumAge: config.maximumAge, deviceId: deviceId))
    if config.deviceId.isEmpty { CommonDeviceID.share(store.deviceId) }
    return store
  }
}
