import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

/// One after another: what one posts would drive the sensors of another.
@Suite(.serialized) struct SensorTests {}

/// A sensor on a store in a folder of its own, with all that it says.
final class Bench {
  let folder = TemporaryFolder()
  let config = NotificationSensor.Config()
  let observer = RecordingObserver()
  /// Its own, so that a test can wait for it. One test uses the main queue.
  let callbacks = DispatchQueue(label: "test.callbacks")
  let integration = FakeIntegration()
  let logged = Locked<[String]>([])
  private(set) var sensor: NotificationSensor!
  private let posted = Locked<[Notification]>([])
  private var listener: BroadcastListener?

  var path: String { config.dbPath.hasPrefix("/") ? config.dbPath : folder.path("store.sqlite") }

  init(
    key: String? = Keys.rawText, type: DatabaseType = .sqlite, _ change: (NotificationSensor.Config) -> Void = { _ in }
  ) {
    config.dbType = type
    config.dbEncryptionKey = key
    config.dbPath = folder.path("store.sqlite")
    config.sensorObserver = observer
    config.callbackQueue = callbacks
    config.requestPermission = false
    change(config)
    let logged = logged
    sensor = NotificationSensor(
      config, integration: integration, log: SensorLog { line in logged.withLock { $0.append(line) } })
    let sensor = WeakReference(sensor)
    let posted = posted
    let record: @Sendable (Notification) -> Void = { notification in
      if notification.object as AnyObject? === sensor.value { posted.withLock { $0.append(notification) } }
    }
    listener = BroadcastListener(Dictionary(uniqueKeysWithValues: allNames.map { ($0, record) }))
  }

  /// Lets go of the sensor, and of what it posted.
  func dropSensor() {
    sensor = nil
    posted.withLock { $0 = [] }
  }

  /// Waits until everything asked for has happened and was told.
  func settle() {
    let done = DispatchSemaphore(value: 0)
    sensor.whenIdle { done.signal() }
    done.wait()
    // What is told may ask for more, which is then told.
    for _ in 0..<3 { callbacks.sync {} }
  }

  /// What the sensor posted so far.
  func broadcasts(_ name: Notification.Name) -> [Notification] {
    settle()
    return posted.snapshot.filter { $0.name == name }
  }

  /// The names of what was posted, without their common beginning.
  var names: [String] {
    settle()
    return posted.snapshot.map {
      String($0.name.rawValue.dropFirst(NotificationSensor.ACTION_AWARE_NOTIFICATION.count))
    }
  }

  /// Hands over a silent push and waits for its completion handler.
  func push(_ userInfo: [AnyHashable: Any] = ["aps": ["content-available": 1]]) -> UIBackgroundFetchResult? {
    let results = Locked<[UIBackgroundFetchResult]>([])
    let done = DispatchSemaphore(value: 0)
    sensor.handleSilentPush(userInfo: userInfo) { result in
      results.withLock { $0.append(result) }
      done.signal()
    }
    guard done.wait(timeout: .now() + 30) == .success else { return nil }
    settle()
    return results.snapshot.count == 1 ? results.snapshot[0] : nil
  }

  /// What is in the store, through a connection of its own, after the sensor has let go of it.
  func stored<Result>(_ body: (NotificationStore) throws -> Result) throws -> Result {
    settle()
    let store = try NotificationStore(
      .init(path: path, key: try EncryptionKey(config.dbEncryptionKey ?? Keys.rawText), access: .readOnly))
    defer { try? store.close() }
    return try body(store)
  }
}

let allNames: [Notification.Name] = [
  .actionAwareNotification, .actionAwareNotificationStart, .actionAwareNotificationStop, .actionAwareNotificationSync,
  .actionAwareNotificationSetLabel, .actionAwareNotificationSyncCompletion, .actionAwareNotificationReceived,
  .actionAwareNotificationTokenUpdated, .actionAwareNotificationSilentPushReceived,
  .actionAwareNotificationCommandSync, .actionAwareNotificationCommandRestart,
  .actionAwareNotificationCommandConfigUpdate, .actionAwareNotificationCommandCustom, .actionAwareNotificationError,
]

/// Keeps what it is told, as lines and as values.
final class RecordingObserver: NotificationObserver {
  let notifications = Locked<[NotificationData]>([])
  let tokens = Locked<[NotificationTokenData]>([])
  let silentPushes = Locked<[SilentPushData]>([])
  let commands = Locked<[NotificationCommand]>([])
  let errors = Locked<[AwareNotificationError]>([])
  /// The kinds of calls in their order.
  let calls = Locked<[String]>([])

  func onNotificationReceived(data: NotificationData) {
    notifications.withLock { $0.append(data) }
    calls.withLock { $0.append("notification") }
  }
  func onDeviceTokenUpdated(data: NotificationTokenData) {
    tokens.withLock { $0.append(data) }
    calls.withLock { $0.append("token") }
  }
  func onSilentPushReceived(data: SilentPushData) {
    silentPushes.withLock { $0.append(data) }
    calls.withLock { $0.append("silent") }
  }
  func onCommandReceived(command: NotificationCommand, data: SilentPushData) {
    commands.withLock { $0.append(command) }
    calls.withLock { $0.append("command") }
  }
  func onError(_ error: AwareNotificationError) {
    errors.withLock { $0.append(error) }
    calls.withLock { $0.append("error") }
  }
}

/// Stands for the system's notification center.
final class FakeIntegration: PushIntegration {
  let calls = Locked<[String]>([])
  private let receive = Locked<(@Sendable (ReceivedNotification) -> Void)?>(nil)

  func install(_ receive: @escaping @Sendable (ReceivedNotification) -> Void) {
    self.receive.withLock { $0 = receive }
    calls.withLock { $0.append("install") }
  }
  func remove() {
    receive.withLock { $0 = nil }
    calls.withLock { $0.append("remove") }
  }
  func requestPermission(_ report: @escaping @Sendable (String?) -> Void) {
    calls.withLock { $0.append("requestPermission") }
    report(nil)
  }

  /// A notification arrives, as far as a delegate is installed.
  func deliver(_ notification: ReceivedNotification) { receive.snapshot?(notification) }
}
