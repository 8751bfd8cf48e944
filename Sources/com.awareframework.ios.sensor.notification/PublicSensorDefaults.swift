import Foundation
import NotificationStore

/// What the public AWARE sensor keeps outside its store.
struct PublicSensorDefaults {
  static let deviceIdKey = "com.aware.ios.sensor.core.key.deviceid"
  private static let cursorKey = "aware.sync.task.last_uploaded_id."

  private let value: (_ key: String) -> Any?

  /// - Parameter value: reads the app's user defaults.
  init(_ value: @escaping (_ key: String) -> Any? = { UserDefaults.standard.object(forKey: $0) }) { self.value = value }

  var deviceId: String? { (value(Self.deviceIdKey) as? String).flatMap { $0.isEmpty ? nil : $0 } }

  /// The last id sent of each table, as far as anything was.
  var syncedThrough: [String: Int64] {
    NotificationStore.tables.reduce(into: [:]) { cursors, table in
      let id = (value(Self.cursorKey + table) as? NSNumber)?.int64Value ?? 0
      if id > 0 { cursors[table] = id }
    }
  }
}
