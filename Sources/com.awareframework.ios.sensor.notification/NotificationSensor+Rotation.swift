import EncryptedSQLite
import Foundation
import NotificationStore

extension NotificationSensor {
  /// Gives the store another key. This sensor goes on under it.
  ///
  /// With an `encryptionKeyStore` the new key is staged there first and promoted at the end. A rotation that failed or was
  /// cut short stays staged, and is finished at the next opening: another process may be at it already. Without one, the app keeps both keys until it is told of the success, and from
  /// then on configures the new one as `dbEncryptionKey`; after a cut it gives the old one as `dbPreviousEncryptionKey`.
  ///
  /// - Parameter completionHandler: is called with the report, or with the error. After `rotationUnconfirmed` either key
  ///   may be in force: keep both, and rotate again. After any other error the old one is, and nothing was changed.
  public func rotateEncryptionKey(
    to new: EncryptionKey, completionHandler: ((Result<RotationReport, AwareNotificationError>) -> Void)? = nil
  ) {
    let config = Carried(CONFIG)
    let handler = Carried(completionHandler)
    let uploads = uploads
    withStore {
      // It would hold the file that may be replaced.
      uploads.end()
      return try Self.rotate($0, to: new, config.value)
    } finish: { _, result in
      handler.value?(result)
    }
  }

  private static func rotate(
    _ store: NotificationStore, to new: EncryptionKey, _ config: Config
  ) throws -> RotationReport {
    // A key that never fits would stay staged.
    try store.database.requireFitting(new)
    let keys = try ConfiguredKeys(config)
    if case .kept(let keyStore)? = keys { try keyStore.stage(new) }
    let report: RotationReport
    do {
      report = try store.rotateEncryptionKey(to: new)
    } catch let error as DatabaseError where error.code == .rotationUnconfirmed {
      if case .given(let key, let previous)? = keys {
        config.previousEncryptionKey = store.isRotationPending ? previous ?? key : key
        config.encryptionKey = new
      }
      throw error
    }
    switch keys {
    case .kept(let keyStore)?:
      do {
        try keyStore.confirm(new)
      } catch {
        throw DatabaseError(
          .rotationUnconfirmed,
          "the store is under its new key, which the key store could not make the current one (\(error)): the next opening "
            + "tries again")
      }
    default: config.encryptionKey = new
    }
    return report
  }
}
