import EncryptedSQLite
import Foundation
import NotificationStore
import NotificationSync
import com_awareframework_ios_sensor_notification

/// The recording of one push, from the system's hands to the disk, and its receipt to the server.
struct Recording: Sendable {
  private let settings: StoreSettings
  private let config: SharedConfig
  private let notification: DeliveredNotification
  private let report: @Sendable (AwareNotificationError) -> Void

  init(
    _ settings: StoreSettings, _ config: SharedConfig, _ notification: DeliveredNotification,
    _ report: @escaping @Sendable (AwareNotificationError) -> Void
  ) {
    self.settings = settings
    self.config = config
    self.notification = notification
    self.report = report
  }

  /// A receipt, and the store that it waits in; nil when it waits in the spool.
  struct Stored: Sendable {
    let receipt: DeliveryReceipt
    let isInStore: Bool
    let deviceId: String
  }

  // MARK: To the disk

  /// Stores the push, or seals it beside the store. The receipt is kept with it, so that none is lost between the two.
  ///
  /// - Returns: nil when no receipt is to be sent.
  func store() async throws -> Stored? {
    // Off the pool of Swift's tasks, which a wait for the store would hold up.
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global(qos: .userInitiated).async {
        continuation.resume(with: Result { try self.storeNow() })
      }
    }
  }

  private func storeNow() throws -> Stored? {
    let record = try record()
    do {
      let store = try settings.openAsGuest()
      defer { try? store.close() }
      let leftUntil = hasReceipt ? UnixTime.milliseconds() + Int64(60_000) : nil
      let receipt = try store.recordDelivery(record, receiptLeftUntil: leftUntil)
      return hasReceipt
        ? Stored(receipt: receipt, isInStore: true, deviceId: deviceId(or: store.deviceId)) : nil
    } catch {
      let reason = AwareNotificationError(describing: error)
      try spool(record, because: reason)
      return hasReceipt
        ? Stored(receipt: receipt(of: record), isInStore: false, deviceId: deviceId(or: record.deviceId)) : nil
    }
  }

  private func spool(_ record: NotificationData, because reason: AwareNotificationError) throws {
    var entries: [SpoolEntry] = [.notification(record)]
    if hasReceipt { entries.append(.receipt(receipt(of: record))) }
    do {
      _ = try settings.spool([entries])
    } catch {
      let spoolError = AwareNotificationError(describing: error)
      throw AwareNotificationError(
        reason.code,
        "the push was not recorded: \(reason.message); nor can it wait beside the store: \(spoolError.message)",
        sqliteCode: reason.sqliteCode)
    }
    // Busy or absent it opens by itself; anything else wants somebody's help.
    if reason.code != .busy, reason.code != .notFound { report(reason) }
  }

  private func record() throws -> NotificationData {
    let shared = settings.sharedSettings
    var record = notification.received.record(label: shared?.label ?? config.config.label)
    record.deviceId = deviceId(or: "")
    record.recordId = RecordID.random()
    return record
  }

  private func deviceId(or other: String) -> String {
    let configured = config.config.deviceId
    return configured.isEmpty ? settings.sharedSettings?.deviceId ?? other : configured
  }

  // MARK: To the server

  private var receiptURL: String? {
    let url = config.config.deliveryReceiptURL ?? settings.sharedSettings?.deliveryReceiptURL
    return url.flatMap { $0.isEmpty ? nil : $0 }
  }

  private var hasReceipt: Bool { receiptURL != nil }

  private func receipt(of record: NotificationData) -> DeliveryReceipt {
    DeliveryReceipt(
      recordId: record.recordId, notificationId: record.notificationId, receivedAt: record.timestamp)
  }

  /// Sends the receipt. Where that fails it goes on waiting where it is.
  ///
  /// - Parameter limit: in seconds.
  func send(_ stored: Stored, within limit: TimeInterval) async throws {
    var upload = SyncSettings(host: "", deviceId: stored.deviceId, tls: config.config.tls)
    upload.deliveryReceiptURL = receiptURL
    if let key = config.config.syncSigningKey {
      upload.signingKey = try SigningKey(key, id: config.config.syncSigningKeyId ?? stored.deviceId)
    }
    let transport = try SystemTransport(policy: upload.tls, timeouts: .within(limit))
    guard let sender = try ReceiptSender(upload, transport: transport) else { return }
    try await sender.send(stored.receipt, now: UnixTime.milliseconds())
    // In the spool it stays, and is sent once more: the server knows it by its record.
    guard stored.isInStore else { return }
    let store = try settings.openAsGuest()
    defer { try? store.close() }
    try store.removeReceipt(stored.receipt)
  }
}
