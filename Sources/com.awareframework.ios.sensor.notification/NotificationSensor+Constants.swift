extension NotificationSensor {
  public static let TAG = "Aware::Notification"

  /// What the names of all actions begin with.
  public static let ACTION_AWARE_NOTIFICATION = "com.awareframework.ios.sensor.notification"

  // Posted by the sensor when the method of that name is called; obeyed when another object posts them.
  public static let ACTION_AWARE_NOTIFICATION_START = ACTION_AWARE_NOTIFICATION + ".SENSOR_START"
  public static let ACTION_AWARE_NOTIFICATION_STOP = ACTION_AWARE_NOTIFICATION + ".SENSOR_STOP"
  public static let ACTION_AWARE_NOTIFICATION_SYNC = ACTION_AWARE_NOTIFICATION + ".SYNC"
  public static let ACTION_AWARE_NOTIFICATION_SET_LABEL = ACTION_AWARE_NOTIFICATION + ".SET_LABEL"

  /// Carries `status` (Bool), and `error` when there is one.
  public static let ACTION_AWARE_NOTIFICATION_SYNC_COMPLETION = ACTION_AWARE_NOTIFICATION + ".SENSOR_SYNC_COMPLETION"
  /// Carries `data` (``NotificationData``).
  public static let ACTION_AWARE_NOTIFICATION_RECEIVED = ACTION_AWARE_NOTIFICATION + ".RECEIVED"
  /// Carries `token`, the hexadecimal text.
  public static let ACTION_AWARE_NOTIFICATION_TOKEN_UPDATED = ACTION_AWARE_NOTIFICATION + ".TOKEN_UPDATED"
  /// Carries `data` (``SilentPushData``) and `payload`, its JSON text.
  public static let ACTION_AWARE_NOTIFICATION_SILENT_PUSH_RECEIVED =
    ACTION_AWARE_NOTIFICATION + ".SILENT_PUSH_RECEIVED"

  // Commands carry `data` (``SilentPushData``) and `command`; an update of the configuration also `configUrl` (URL).
  public static let ACTION_AWARE_NOTIFICATION_COMMAND_SYNC = ACTION_AWARE_NOTIFICATION + ".COMMAND_SYNC"
  public static let ACTION_AWARE_NOTIFICATION_COMMAND_RESTART = ACTION_AWARE_NOTIFICATION + ".COMMAND_RESTART"
  public static let ACTION_AWARE_NOTIFICATION_COMMAND_CONFIG_UPDATE =
    ACTION_AWARE_NOTIFICATION + ".COMMAND_CONFIG_UPDATE"
  public static let ACTION_AWARE_NOTIFICATION_COMMAND_CUSTOM = ACTION_AWARE_NOTIFICATION + ".COMMAND_CUSTOM"

  /// Carries `error` (``AwareNotificationError``).
  public static let ACTION_AWARE_NOTIFICATION_ERROR = ACTION_AWARE_NOTIFICATION + ".ERROR"

  // Keys of what a broadcast carries.
  public static let EXTRA_DATA = "data"
  public static let EXTRA_LABEL = "label"
  public static let EXTRA_STATUS = "status"
  public static let EXTRA_ERROR = "error"
  public static let EXTRA_TOKEN = "token"
  public static let EXTRA_PAYLOAD = "payload"
  public static let EXTRA_COMMAND = "command"
  public static let EXTRA_CONFIG_URL = "configUrl"
}
