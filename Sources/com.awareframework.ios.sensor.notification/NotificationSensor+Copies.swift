import EncryptedSQLite
import Foundation
import NotificationStore

extension NotificationSensor {
  /// Copies the store to a new file, encrypted under the store's key, consistent as of now.
  ///
  /// - Parameter completionHandler: is called with the report, or with the error; nothing is left then.
  public func backup(
    to path: String, completionHandler: ((Result<BackupReport, AwareNotificationError>) -> Void)? = nil
  ) {
    let handler = Carried(completionHandler)
    withStore {
      try $0.backUp(to: path)
    } finish: { _, result in
      handler.value?(result)
    }
  }

  /// Puts a copy of a backup in the place of the store, which opens again with the next record. No other process may have
  /// the store open.
  ///
  /// - Parameters:
  ///   - backupKey: the backup's key, where it is neither the store's nor the previous one.
  ///   - completionHandler: is called with the report, or with the error; the store is as it was then.
  public func restore(
    from path: String, backupKey: EncryptionKey? = nil,
    completionHandler: ((Result<BackupReport, AwareNotificationError>) -> Void)? = nil
  ) {
    let config = Carried(CONFIG)
    let handler = Carried(completionHandler)
    withoutStore {
      guard let settings = try StoreSettings(config.value) else {
        throw DatabaseError(.invalidConfiguration, "dbType is NONE: set the dbType, path and key of the store")
      }
      return try settings.restore(from: path, backupKey: backupKey)
    } finish: { _, result in
      handler.value?(result)
    }
  }
}
