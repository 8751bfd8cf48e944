import com_awareframework_ios_sensor_notification

/// The app's configuration, read by several threads.
struct SharedConfig: Sendable {
  let config: NotificationSensor.Config

  init(_ config: NotificationSensor.Config) { self.config = config }

  func settings() throws -> StoreSettings? { try StoreSettings(config) }
}
