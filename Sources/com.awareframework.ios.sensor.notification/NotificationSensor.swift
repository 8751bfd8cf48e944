import EncryptedSQLite
import Foundation
import NotificationStore

/// Records the pushes that a person sees, device tokens and silent pushes, in an encrypted store.
///
/// Safe to call from any thread. Calls return at once; records are stored in order, off the caller's thread; observers,
/// broadcasts and completion handlers come on the configured `callbackQueue`, in order.
///
/// ```swift
/// let sensor = NotificationSensor(NotificationSensor.Config().apply { config in
///   config.dbType = Engine.DatabaseType.sqlite
///   config.dbEncryptionKey = key
/// })
/// sensor.start()
/// ```
///
/// - Note: `@unchecked Sendable`: what changes, here and in `AwareSensor`, is in `Locked`; `commands` is set in `init` only.
public class NotificationSensor: AwareSensor, @unchecked Sendable {
  /// The configuration. Type, path and key of the database are read when the store is opened: after `init` or
  /// ``stop()``, at ``start()`` or at the first record.
  public var CONFIG: Config {
    get { configuration.snapshot }
    set { configuration.replace(with: newValue) }
  }

  private let configuration: Locked<Config>
  private let integration: any PushIntegration
  let log: SensorLog
  /// In seconds: a completion handler is called within 25, as iOS gives an app 30. A timer may come a tenth late there.
  package var completionLimit: TimeInterval {
    get { limits.completionLimit }
    set { limits.completionLimit = newValue }
  }
  /// Whether a silent push that commands a sync gets one.
  package var syncsOnCommand: Bool {
    get { limits.syncsOnCommand }
    set { limits.syncsOnCommand = newValue }
  }

  private struct Limits {
    var completionLimit: TimeInterval = 22
    var syncsOnCommand = true
  }

  private let limits = Locked(Limits())

  private let intake: IntakeQueue
  let uploads = Uploads()
  /// Received broadcasts drive the sensor from its making on.
  private var commands: BroadcastListener?

  /// A sensor with the default configuration.
  public override convenience init() { self.init(Config()) }

  public convenience init(_ config: Config) {
    self.init(config, integration: SystemPushIntegration(), log: .system)
  }

  /// - Parameter log: takes what else goes to the system's log.
  package convenience init(_ config: Config, log: @escaping @Sendable (String) -> Void) {
    self.init(config, integration: SystemPushIntegration(), log: SensorLog(write: log))
  }

  init(_ config: Config, integration: any PushIntegration, log: SensorLog) {
    configuration = Locked(config)
    self.integration = integration
    self.log = log
    let sensor = WeakReference<NotificationSensor>()
    intake = Self.makeIntake(configuration, log, sensor)
    super.init()
    sensor.value = self
    commands = listen(sensor)
  }

  // MARK: The sensor's life

  /// Installs the notification delegate proxy, asks for permission if so configured, and opens the store.
  public override func start() {
    let sensor = WeakReference(self)
    integration.install { sensor.value?.handle($0) }
    if CONFIG.requestPermission {
      integration.requestPermission { error in
        sensor.value?.debug(error.map { "permission was not asked for: \($0)" } ?? "permission was asked for")
      }
    }
    if CONFIG.dbType == .none, CONFIG.dbEncryptionKey == nil, CONFIG.encryptionKey == nil {
      log.write(
        "dbType is NONE: notifications are passed on and not stored; set dbType to sqlite and a dbEncryptionKey")
    }
    intake.prepare()
    broadcast(.actionAwareNotificationStart)
  }

  /// Removes the delegate proxy, restores the previous delegate, ends a sync that runs, and closes the store once all that
  /// came is stored.
  ///
  /// Tokens and silent pushes that are handed over later are stored all the same.
  public override func stop() {
    integration.remove()
    uploads.cancel()
    intake.close()
    broadcast(.actionAwareNotificationStop)
  }

  /// Sets the label of all records from now on.
  public override func set(label: String) {
    CONFIG.label = label
    // The extension labels its records alike. What is wrong with the settings shows where the store is opened. Off the
    // caller's thread: the app group's settings may be locked.
    intake.whenIdle { [configuration] in
      if let settings = try? StoreSettings(configuration.snapshot)?.sharedSettings {
        try? settings.share(label: label)
      }
    }
    broadcast(.actionAwareNotificationSetLabel, [Self.EXTRA_LABEL: label])
  }

  /// Sends what was recorded to `dbHost`, and tells how that went: by the broadcast of its completion, and by the handlers
  /// of ``AwareSensor/syncConfig``. A sync that runs already is joined.
  ///
  /// - Parameter force: whether to sync now, even where an earlier failure asks to wait.
  public override func sync(force: Bool = false) { startSync(force: force) { _ in } }

  /// Removes everything that was recorded, as when a participant withdraws. Store and key stay.
  ///
  /// - Parameter completionHandler: is called with the error if something is left; call again then.
  public func wipe(completionHandler: ((AwareNotificationError?) -> Void)? = nil) {
    intake.forgetWaiting()
    let handler = Carried(completionHandler)
    let uploads = uploads
    withStore({
      uploads.end()
      try $0.wipe()
    }) { sensor, result in handler.value?(result.failure) }
  }

  // MARK: Parts

  private static func makeIntake(
    _ configuration: Locked<Config>, _ log: SensorLog, _ sensor: WeakReference<NotificationSensor>
  ) -> IntakeQueue {
    let report: @Sendable (DatabaseError) -> Void = { error in
      log.write("\(error)")
      guard let sensor = sensor.value.map({ Carried($0) }) else { return }
      sensor.value.onCallbackQueue { sensor.value.tell(error) }
    }
    let expiryFailure = Locked<DatabaseError.Code?>(nil)
    let open: IntakeQueue.Opening = {
      guard var settings = try StoreSettings(configuration.snapshot) else { return nil }
      settings.reportExpiry = { result in
        // Once for each cause: it stays for hours, or is met at each opening.
        let code = result.failure?.code
        let isNews = expiryFailure.withLock { before in
          defer { before = code }
          return before != code
        }
        if let error = result.failure, isNews { report(error) }
      }
      let store = try settings.open(report: report)
      if let cipher = store.database.cipher, cipher.isOlderThanLibrary {
        log.write(
          "the store has the format of SQLCipher \(cipher.generation) and is used as it is; legacyCipherPolicy can upgrade it"
        )
      }
      return store
    }
    let spool: IntakeQueue.Spooling = { pushes in
      guard let settings = try StoreSettings(configuration.snapshot) else { throw IntakeQueue.noSpool }
      return try settings.spool(pushes)
    }
    return IntakeQueue(open: open, spool: spool, report: report)
  }

  /// Obeys the broadcasts of others. Those of any sensor tell what it does, and are not obeyed: there would be no end.
  private func listen(_ sensor: WeakReference<NotificationSensor>) -> BroadcastListener {
    func obey(
      _ action: @escaping @Sendable (NotificationSensor, Notification) -> Void
    ) -> @Sendable (Notification) -> Void {
      { notification in
        guard !(notification.object is AwareSensor), let sensor = sensor.value else { return }
        action(sensor, notification)
      }
    }
    return BroadcastListener([
      .actionAwareNotificationStart: obey { sensor, _ in sensor.start() },
      .actionAwareNotificationStop: obey { sensor, _ in sensor.stop() },
      .actionAwareNotificationSync: obey { sensor, _ in sensor.sync() },
      .actionAwareNotificationSetLabel: obey { sensor, notification in
        if let label = notification.userInfo?[Self.EXTRA_LABEL] as? String { sensor.set(label: label) }
      },
    ])
  }

  /// Stores `items` together, in their order.
  func store(_ items: [IntakeQueue.Arrival]) { intake.add(items) }

  /// Calls `body` with the store, off the caller's thread, and then `finish` on the callback queue. A failure has been told
  /// to the observer by then.
  package func withStore<Value: Sendable>(
    _ body: @escaping @Sendable (NotificationStore) throws -> Value,
    finish: @escaping (NotificationSensor, Result<Value, AwareNotificationError>) -> Void
  ) {
    intake.perform(body, finish: finishing(finish))
  }

  /// As ``withStore(_:finish:)``, and `finish` is called on the store's queue; a failure is told to nobody else.
  func performOnStore<Value: Sendable>(
    _ body: @escaping @Sendable (NotificationStore) throws -> Value,
    finish: @escaping @Sendable (Result<Value, AwareNotificationError>) -> Void
  ) {
    intake.perform(body, finish: finish)
  }

  /// As ``withStore(_:finish:)``, while this sensor has no store open.
  func withoutStore<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value,
    finish: @escaping (NotificationSensor, Result<Value, AwareNotificationError>) -> Void
  ) {
    let uploads = uploads
    intake.performClosed(
      {
        uploads.end()
        return try body()
      }, finish: finishing(finish))
  }

  private func finishing<Value: Sendable>(
    _ finish: @escaping (NotificationSensor, Result<Value, AwareNotificationError>) -> Void
  ) -> @Sendable (Result<Value, AwareNotificationError>) -> Void {
    let sensor = Carried(self)
    let finish = Carried(finish)
    return { result in
      if case .failure(let error) = result { sensor.value.log.write("\(error)") }
      sensor.value.onCallbackQueue {
        if case .failure(let error) = result { sensor.value.tell(error) }
        finish.value(sensor.value, result)
      }
    }
  }

  /// Closes the store once all that came is stored, and waits for that.
  func closeAndWait() {
    intake.close()
    let closed = DispatchSemaphore(value: 0)
    intake.whenIdle { closed.signal() }
    closed.wait()
  }

  func prepareStore() { intake.prepare() }

  /// Calls `body` once all that was asked before is done, off the caller's thread.
  package func whenIdle(_ body: @escaping @Sendable () -> Void) { intake.whenIdle(body) }

  func debug(_ message: @autoclosure () -> String) {
    if CONFIG.debug { log.write(message()) }
  }
}

extension NotificationSensor: CustomReflectable {
  public var customMirror: Mirror {
    Mirror(self, children: ["id": id, "CONFIG": CONFIG], ancestorRepresentation: .suppressed)
  }
}

extension Result {
  /// The error, if it is one.
  package var failure: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }
}
