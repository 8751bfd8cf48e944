import EncryptedSQLite
import Foundation
import NotificationStore
import com_awareframework_ios_sensor_notification

/// The sensor on one store, as an app would have it, for the length of one command.
final class SensorSession {
  private let sensor: NotificationSensor
  private let path: String
  /// Not the main queue, which this program does not run.
  private let callbacks = DispatchQueue(label: "aware-notification.callbacks")
  private var broadcasts: [any NSObjectProtocol] = []

  /// - Parameter showsBroadcasts: whether each broadcast of the sensor is printed.
  init(path: String, key: EncryptionKey, label: String, showsBroadcasts: Bool) throws {
    let callbacks = callbacks
    let path = try FileSystem.absolute(path)
    self.path = path
    let config = NotificationSensor.Config().apply { config in
      config.dbType = .sqlite
      config.dbPath = path
      config.encryptionKey = key
      config.label = label
      config.requestPermission = false
      config.callbackQueue = callbacks
      // What is reported as committed has to survive a power cut.
      config.synchronous = .full
      // Taking a plaintext store over is a command of its own, `encrypt`.
      config.plaintextStorePolicy = .refuse
      config.sensorObserver = CommandReporter()
    }
    // What goes wrong comes back from each call.
    sensor = NotificationSensor(config, log: { _ in })
    if showsBroadcasts { showBroadcasts() }
  }

  deinit {
    for token in broadcasts { NotificationCenter.default.removeObserver(token) }
  }

  /// Opens the store, or makes it, starts the sensor, and closes all again after `body`, also when that fails.
  func whileOpen<Result>(_ body: () throws -> Result) throws -> Result {
    try open()
    defer { close() }
    return try body()
  }

  private func open() throws {
    try `do` { sensor, finish in
      sensor.withStore { _ in
      } finish: {
        finish($1.failure)
      }
    }
    if PlaintextStore.needsAdoption(at: path) {
      Output.error("an interrupted encrypt has left plaintext beside \(path): run encrypt again to remove it")
    }
    sensor.start()
  }

  /// Asks the sensor for something and waits until it has called back, which it does once.
  ///
  /// - Throws: the error that it called back with.
  func `do`(_ work: (NotificationSensor, _ finish: @escaping (DatabaseError?) -> Void) -> Void) throws {
    let done = DispatchSemaphore(value: 0)
    var failure: DatabaseError?
    work(sensor) { error in
      failure = error
      done.signal()
    }
    done.wait()
    if let failure { throw failure }
  }

  /// Stops the sensor and waits until its store is closed.
  private func close() {
    sensor.stop()
    let done = DispatchSemaphore(value: 0)
    sensor.whenIdle { done.signal() }
    done.wait()
    // What the sensor has still to tell.
    callbacks.sync {}
  }

  private func showBroadcasts() {
    let names: [Notification.Name] = [
      .actionAwareNotificationStart, .actionAwareNotificationStop, .actionAwareNotificationSync,
      .actionAwareNotificationSyncCompletion, .actionAwareNotificationSetLabel, .actionAwareNotificationReceived,
      .actionAwareNotificationTokenUpdated, .actionAwareNotificationSilentPushReceived,
      .actionAwareNotificationCommandSync, .actionAwareNotificationCommandRestart,
      .actionAwareNotificationCommandConfigUpdate, .actionAwareNotificationCommandCustom,
      .actionAwareNotificationError,
    ]
    broadcasts = names.map { name in
      NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in
        try? Output.write("broadcast \(name.rawValue)\n")
      }
    }
  }
}

/// Prints the commands that pushes bring. Nothing more is done about them here.
private struct CommandReporter: NotificationObserver {
  func onNotificationReceived(data: NotificationData) {}
  func onDeviceTokenUpdated(data: NotificationTokenData) {}
  func onSilentPushReceived(data: SilentPushData) {}
  func onCommandReceived(command: NotificationCommand, data: SilentPushData) {
    // A reader that went away fails the next line about a commit.
    try? Output.write("command \(command.rawValue.escapingControls)\n")
  }
}
