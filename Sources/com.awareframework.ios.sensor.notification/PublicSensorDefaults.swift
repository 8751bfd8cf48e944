import Foundation
import NotificationStore

/// What the public AWARE sensor keeps outside its store.
struct PublicSensorDefaults {
  static let deviceIdKey = "com.aware.ios.sensor.core.key.deviceid"
  private static let cursorKey = "aware.sync.task.last_uploaded_id."

  private let defaults: UserDefaults

  init(_ defaults: UserDefaults) { self.defaults = defaults }

  var deviceId: String? { defaults.string(forKey: Self.deviceIdKey).flatMap { $0.isEmpty ? nil : $0 } }

  /// The last id sent of each table, as far as anything was.
  var syncedThrough: [String: Int64] {
    NotificationStore.tables.reduce(into: [:]) { cursors, table in
      let id = (defaults.object(forKey: Self.cursorKey + table) as? NSNumber)?.int64Value ?? 0
      if id > 0 { cursors[table] = id }
    }
  }
}
