import Foundation

/// What the sensor tells its developer: never a key, never content.
struct SensorLog: Sendable {
  let write: @Sendable (String) -> Void

  static let system = SensorLog { NSLog("%@", "\(NotificationSensor.TAG): \($0)") }
}
