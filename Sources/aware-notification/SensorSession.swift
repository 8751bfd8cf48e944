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
  /// Those that pushes commanded, and that are under way.
  private let syncs = DispatchGroup()
  private let failedSyncs = Locked(0)

  /// - Parameters:
  ///   - showsBroadcasts: whether each broadcast of the sensor is printed.
  ///   - upload: where the sensor syncs to when a push commands it; nil: it does not.
  init(
    path: String, key: EncryptionKey, previousKey: EncryptionKey?, label: String, showsBroadcasts: Bool,
    upload: Upload? = nil
  ) throws {
    let callbacks = callbacks
    let reporter = CommandReporter(syncs: upload == nil ? nil : syncs)
    let path = try FileSystem.absolute(path)
    self.path = path
    let config = NotificationSensor.Config().apply { config in
      config.dbType = .sqlite
      config.dbPath = path
      config.encryptionKey = key
      config.previousEncryptionKey = previousKey
      config.label = label
      config.requestPermission = false
      config.callbackQueue = callbacks
      // What is reported as committed has to survive a power cut.
      config.synchronous = .full
      // Taking a plaintext store over is a command of its own, `encrypt`.
      config.plaintextStorePolicy = .refuse
      config.sensorObserver = reporter
    }
    let syncConfig = DbSyncConfig()
    upload?.configure(config, syncConfig)
    // What goes wrong comes back from each call.
    sensor = NotificationSensor(config, log: { _ in })
    sensor.syncConfig = syncConfig
    sensor.syncsOnCommand = upload != nil
    syncConfig.completionHandler = { [syncs, failedSyncs] isComplete, error in
      if let error {
        failedSyncs.withLock { $0 += 1 }
        Output.error((error as? DatabaseError)?.message ?? "\(error)")
      } else {
        try? Output.write("synced\n")
      }
      syncs.leave()
    }
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

  /// Waits for the syncs that pushes commanded, or for an interrupt.
  ///
  /// - Returns: whether each sent everything.
  func finishSyncs(isInterrupted: () -> Bool) -> Bool {
    while !isInterrupted(), syncs.wait(timeout: .now() + 0.1) == .timedOut {}
    return failedSyncs.snapshot == 0
  }

  private func open() throws {
    try `do` { sensor, finish in
      sensor.withStore {
        $0.spool
      } finish: {
        if case .success(let spool) = $1 { Output.errors(spool) }
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
    // One that was interrupted, for the ledger to be right.
    _ = syncs.wait(timeout: .now() + 10)
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

/// Prints the commands that pushes bring.
private struct CommandReporter: NotificationObserver {
  /// Gets each sync that a command begins.
  let syncs: DispatchGroup?

  func onNotificationReceived(data: NotificationData) {}
  func onDeviceTokenUpdated(data: NotificationTokenData) {}
  func onSilentPushReceived(data: SilentPushData) {}
  func onCommandReceived(command: NotificationCommand, data: SilentPushData) {
    if command == .sync { syncs?.enter() }
    // A reader that went away fails the next line about a commit.
    try? Output.write("command \(command.rawValue.escapingControls)\n")
  }
}
