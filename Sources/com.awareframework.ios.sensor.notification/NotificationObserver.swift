import EncryptedSQLite
import NotificationStore

/// Is told of what the sensor receives, on the configured `callbackQueue`, in order.
///
/// Records come after they were stored; one that could not be stored comes too, without an `id`.
public protocol NotificationObserver {
  func onNotificationReceived(data: NotificationData)
  func onDeviceTokenUpdated(data: NotificationTokenData)
  func onSilentPushReceived(data: SilentPushData)
  func onCommandReceived(command: NotificationCommand, data: SilentPushData)
  /// The sensor is configured wrongly, or its store cannot be used. The message says what to do.
  func onError(_ error: AwareNotificationError)
}

extension NotificationObserver {
  public func onError(_ error: AwareNotificationError) {}
}
