import EncryptedSQLite
import Foundation
import NotificationStore
import NotificationSync

extension NotificationSensor {
  /// As ``sync(force:)``, and gives the report: also where it says that not everything could be sent.
  ///
  /// - Throws: `noHost`, `invalidConfiguration`, `invalidSyncSettings`; `syncBusy` while another process syncs; what opening
  ///   the store throws.
  public func syncReport() async throws -> SyncReport {
    try await withCheckedThrowingContinuation { continuation in
      startSync(force: false) { continuation.resume(with: $0) }
    }
  }

  /// - Parameter finish: called once on the callback queue, after everybody else was told.
  package func startSync(force: Bool, finish: @escaping @Sendable (Result<SyncReport, AwareNotificationError>) -> Void)
  {
    broadcast(.actionAwareNotificationSync)
    let sensor = Carried(self)
    let settings: UploadSettings
    do {
      settings = try UploadSettings(CONFIG, syncConfig)
    } catch {
      let error = DatabaseError(describing: error)
      return onCallbackQueue { sensor.value.tellSync(.failure(error), finish) }
    }
    let progress = syncConfig?.progressHandler.map { handler in
      let carried = Carried(handler)
      let queue = Carried(syncConfig?.dispatchQueue ?? CONFIG.callbackQueue)
      return { @Sendable (done: Double) in queue.value.async { carried.value(done, nil) } }
    }
    let log = syncLog
    let uploads = uploads
    let task = uploads.run {
      // A phone that is laid aside would be suspended in the middle of it, with the store open.
      let activity = BackgroundActivity("AWARE: sending records", stop: uploads.cancel)
      defer { activity.end() }
      // A store handle of its own: the sensor's may be closed and opened meanwhile.
      let store = try await sensor.value.openSecondStore()
      defer { try? store.close() }
      let report = try await Synchronizer(store, settings.sync(deviceIdOfStore: store.deviceId), log: log)
        .sync(force: force, progress: progress)
      // Once, however many calls joined the sync.
      for fault in report.ledgerFaults { sensor.value.onCallbackQueue { sensor.value.tell(fault) } }
      return report
    }
    Task {
      let result = await task.result.mapError { DatabaseError(describing: $0) }
      sensor.value.onCallbackQueue { sensor.value.tellSync(result, finish) }
    }
  }

  /// - Throws: what opening throws; `cancelled` at once, for who cancels may hold up the store's queue meanwhile.
  private func openSecondStore() async throws -> NotificationStore {
    let answer = CancellableAnswer<NotificationStore>()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard answer.register(continuation) else { return }
        performOnStore { store in
          var configuration = store.configuration
          configuration.key = store.database.keyInForce
          configuration.previousKey = nil
          // The sensor's own store sees to it.
          configuration.maximumAge = nil
          return try NotificationStore(configuration)
        } finish: { result in
          if !answer.give(result), case .success(let store) = result { try? store.close() }
        }
      }
    } onCancel: {
      _ = answer.give(.failure(Synchronizer.cancelled))
    }
  }

  /// On the callback queue.
  private func tellSync(
    _ result: Result<SyncReport, AwareNotificationError>,
    _ finish: @escaping @Sendable (Result<SyncReport, AwareNotificationError>) -> Void
  ) {
    let error: AwareNotificationError? =
      switch result {
      case .success(let report): report.error ?? report.waiting
      case .failure(let error): error
      }
    if let error { debug("sync: \(error)") }
    var extras: [String: Any] = [Self.EXTRA_STATUS: error == nil]
    if let error { extras[Self.EXTRA_ERROR] = error }
    post(.actionAwareNotificationSyncCompletion, extras)
    if let syncConfig, let handler = syncConfig.completionHandler {
      if let queue = syncConfig.dispatchQueue {
        let carried = Carried(handler)
        queue.async { carried.value(error == nil, error) }
      } else {
        handler(error == nil, error)
      }
    }
    finish(result)
  }

  private var syncLog: SyncLog {
    guard CONFIG.debug || syncConfig?.debug == true, let level = syncConfig?.debugLevel.rawValue else {
      return SyncLog()
    }
    let log = log
    return SyncLog { if $0.rawValue <= level { log.write("sync: \($1)") } }
  }
}

extension SyncReport {
  fileprivate var ledgerFaults: [AwareNotificationError] {
    discarded.map { AwareNotificationError(.ledgerChanged, $0) }
  }

  /// Set where an earlier failure asks to wait, and nothing else went wrong.
  fileprivate var waiting: AwareNotificationError? {
    tables.lazy.compactMap(\.waitsUntil).first.map { until in
      AwareNotificationError(
        .serverUnavailable,
        "an earlier failure asks to wait until \(ISO8601DateFormatter().string(from: until)): sync(force: true) does not wait"
      )
    }
  }
}
