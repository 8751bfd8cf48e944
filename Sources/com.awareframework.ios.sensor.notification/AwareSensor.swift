import EncryptedSQLite
import Foundation

/// What all AWARE sensors do: start, stop, sync, take a label, and sync on request while they are enabled.
open class AwareSensor: NSObject {
  /// Tells one sensor from another.
  public let id = UUID().uuidString

  /// How uploads are done, and who is told of them.
  public var syncConfig: DbSyncConfig? {
    get { uploads.syncConfig }
    set { uploads.syncConfig = newValue }
  }

  private struct Uploads {
    var syncConfig: DbSyncConfig? = DbSyncConfig()
    var isEnabled = false
  }

  private let uploads = Locked(Uploads())
  private let requests: BroadcastListener

  public override init() {
    let sensor = WeakReference<AwareSensor>()
    requests = BroadcastListener([
      .Aware.dbSyncRequest: { _ in
        if let sensor = sensor.value, sensor.isEnabled() { sensor.sync() }
      }
    ])
    super.init()
    sensor.value = self
  }

  open func start() {}

  open func stop() {}

  /// - Parameter force: whether to sync now, even where an earlier failure asks to wait.
  open func sync(force: Bool = false) {}

  open func set(label: String) {}

  /// From now on the sensor syncs whenever ``Foundation/Notification/Name/Aware/dbSyncRequest`` is posted.
  open func enable() { uploads.isEnabled = true }

  open func disable() { uploads.isEnabled = false }

  /// Whether ``enable()`` was called, and ``disable()`` not since.
  open func isEnabled() -> Bool { uploads.isEnabled }
}

/// Listens to broadcasts until it is released, or a moment longer.
///
/// - Note: `@unchecked Sendable`: `tokens` does not change, and NotificationCenter takes them on any thread.
final class BroadcastListener: @unchecked Sendable {
  private let tokens: [any NSObjectProtocol]

  /// - Parameter handlers: what to do for each name, on the thread that posts.
  init(_ handlers: [Notification.Name: @Sendable (Notification) -> Void]) {
    tokens = handlers.map { NotificationCenter.default.addObserver(forName: $0, object: nil, queue: nil, using: $1) }
  }

  deinit {
    // Not taken out here: an app's observer may hold the last reference to a sensor and be on its way out of the center
    // just now, which on Linux holds its lock meanwhile.
    let tokens = Carried(tokens)
    DispatchQueue.global().async {
      for token in tokens.value { NotificationCenter.default.removeObserver(token) }
    }
  }
}

/// A reference that does not keep its object alive.
///
/// - Note: `@unchecked Sendable`: reading a weak reference is safe on any thread, and it is set once, before it is shared.
final class WeakReference<Object: AnyObject>: @unchecked Sendable {
  weak var value: Object?
  init(_ value: Object? = nil) { self.value = value }
}
