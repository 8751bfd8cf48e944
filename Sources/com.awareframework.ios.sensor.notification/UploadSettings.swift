import EncryptedSQLite
import Foundation
import NotificationSync

/// What a sensor's and an upload's configuration make together: where to send, and how.
struct UploadSettings: Sendable {
  private var settings: SyncSettings
  private let signing: (key: Data?, id: String?)

  /// - Throws: `noHost`, `invalidSyncSettings`, before anything is opened or sent.
  init(_ config: NotificationSensor.Config, _ upload: DbSyncConfig?) throws {
    guard let host = config.dbHost, !host.isEmpty else {
      throw AwareNotificationError(.noHost, "no host configured to sync with: set dbHost")
    }
    let upload = upload ?? DbSyncConfig()
    // Both say what the study is. What the upload's configuration says goes first, where it says anything.
    let unset = StudySettings()
    settings = SyncSettings(
      host: host,
      serverType: upload.serverType == unset.serverType ? config.serverType : upload.serverType,
      studyNumber: upload.studyNumber == unset.studyNumber ? config.studyNumber : upload.studyNumber,
      studyKey: upload.studyKey == unset.studyKey ? config.studyKey : upload.studyKey,
      deviceId: upload.deviceId.flatMap { $0.isEmpty ? nil : $0 } ?? config.deviceId, batchSize: upload.batchSize,
      compactDataFormat: upload.compactDataFormat, extendedColumns: upload.extendedColumns,
      createsTables: upload.createsTables, removeAfterSync: upload.removeAfterSync,
      removeWithoutProof: upload.removeWithoutProof, keepLastData: upload.keepLastData, tls: config.tls,
      deliveryReceiptURL: config.deliveryReceiptURL)
    if settings.deviceId.isEmpty { settings.deviceId = CommonDeviceID.current ?? "" }
    signing = (config.syncSigningKey, config.syncSigningKeyId)
    // Now, and not once the store is open.
    _ = try sync(deviceIdOfStore: "device")
  }

  /// - Parameter deviceIdOfStore: where the configuration names none.
  func sync(deviceIdOfStore: String) throws -> SyncSettings {
    var settings = settings
    if settings.deviceId.isEmpty { settings.deviceId = deviceIdOfStore }
    if let secret = signing.key {
      settings.signingKey = try SigningKey(secret, id: signing.id ?? settings.deviceId)
    }
    try settings.check()
    return settings
  }
}
