import Foundation

extension Notification.Name {
  /// Names that all AWARE sensors share.
  public enum Aware {
    /// Asks every enabled sensor to sync.
    public static let dbSyncRequest = Notification.Name("AwareDBSyncRequest")
  }

  public static let actionAwareNotification = Self(NotificationSensor.ACTION_AWARE_NOTIFICATION)
  public static let actionAwareNotificationStart = Self(NotificationSensor.ACTION_AWARE_NOTIFICATION_START)
  public static let actionAwareNotificationStop = Self(NotificationSensor.ACTION_AWARE_NOTIFICATION_STOP)
  public static let actionAwareNotificationSync = Self(NotificationSensor.ACTION_AWARE_NOTIFICATION_SYNC)
  public static let actionAwareNotificationSetLabel = Self(NotificationSensor.ACTION_AWARE_NOTIFICATION_SET_LABEL)
  public static let actionAwareNotificationSyncCompletion = Self(
    NotificationSensor.ACTION_AWARE_NOTIFICATION_SYNC_COMPLETION)
  public static let actionAwareNotificationReceived = Self(NotificationSensor.ACTION_AWARE_NOTIFICATION_RECEIVED)
  public static let actionAwareNotificationTokenUpdated = Self(
    NotificationSensor.ACTION_AWARE_NOTIFICATION_TOKEN_UPDATED)
  public static let actionAwareNotificationSilentPushReceived = Self(
    NotificationSensor.ACTION_AWARE_NOTIFICATION_SILENT_PUSH_RECEIVED)
  public static let actionAwareNotificationCommandSync = Self(NotificationSensor.ACTION_AWARE_NOTIFICATION_COMMAND_SYNC)
  public static let actionAwareNotificationCommandRestart = Self(
    NotificationSensor.ACTION_AWARE_NOTIFICATION_COMMAND_RESTART)
  public static let actionAwareNotificationCommandConfigUpdate = Self(
    NotificationSensor.ACTION_AWARE_NOTIFICATION_COMMAND_CONFIG_UPDATE)
  public static let actionAwareNotificationCommandCustom = Self(
    NotificationSensor.ACTION_AWARE_NOTIFICATION_COMMAND_CUSTOM)
  public static let actionAwareNotificationError = Self(NotificationSensor.ACTION_AWARE_NOTIFICATION_ERROR)
}
