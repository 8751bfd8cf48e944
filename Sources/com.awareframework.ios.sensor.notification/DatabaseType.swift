/// Where records are kept.
public enum DatabaseType: Sendable {
  /// Nowhere: observers and broadcasts get them, and that is all.
  case none
  /// In an encrypted SQLite file.
  case sqlite

  /// The spelling of the sensor's documentation.
  public static let NONE = DatabaseType.none
}

/// Gives ``DatabaseType`` its documented name, `Engine.DatabaseType`.
public enum Engine {
  public typealias DatabaseType = com_awareframework_ios_sensor_notification.DatabaseType
}
