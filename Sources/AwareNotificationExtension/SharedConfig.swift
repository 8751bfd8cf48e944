import com_awareframework_ios_sensor_notification

/// The app's configuration, read by several threads.
///
/// - Note: `@unchecked Sendable`: every property of a `Config` may be read and set from any thread, and the reference does
///   not change.
struct SharedConfig: @unchecked Sendable {
  let config: NotificationSensor.Config

  init(_ config: NotificationSensor.Config) { self.config = config }

  func settings() throws -> StoreSettings? { try StoreSettings(config) }
}
