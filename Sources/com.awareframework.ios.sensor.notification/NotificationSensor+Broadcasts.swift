import Foundation
import NotificationStore

/// Telling observers, and everybody who listens.
extension NotificationSensor {
  /// Calls `body` on the configured queue.
  ///
  /// Never from the store's queue itself: on Linux posting waits for observers on the main queue, and main may be
  /// waiting for the store.
  func onCallbackQueue(_ body: @escaping () -> Void) {
    let carried = Carried(body)
    CONFIG.callbackQueue.async { carried.value() }
  }

  func broadcast(_ name: Notification.Name, _ extras: [String: Any]? = nil) {
    let carried = Carried((sensor: self, extras: extras))
    onCallbackQueue { carried.value.sensor.post(name, carried.value.extras) }
  }

  /// On the callback queue.
  func post(_ name: Notification.Name, _ extras: [String: Any]?) {
    NotificationCenter.default.post(name: name, object: self, userInfo: extras)
  }

  /// Tells what came, and carries out `command`. On the callback queue.
  ///
  /// - Parameter finish: called on the callback queue when that is done; a sync takes its time.
  func tell(
    _ item: IntakeQueue.Item, command: NotificationCommand?, finish: @escaping @Sendable () -> Void = {}
  ) {
    var isDone = true
    defer { if isDone { finish() } }
    switch item {
    case .token(let data):
      CONFIG.sensorObserver?.onDeviceTokenUpdated(data: data)
      post(.actionAwareNotificationTokenUpdated, [Self.EXTRA_TOKEN: data.token])
    case .push(let push):
      if let data = push.notification {
        CONFIG.sensorObserver?.onNotificationReceived(data: data)
        post(.actionAwareNotificationReceived, [Self.EXTRA_DATA: data])
      }
      if let data = push.silentPush {
        CONFIG.sensorObserver?.onSilentPushReceived(data: data)
        post(
          .actionAwareNotificationSilentPushReceived, [Self.EXTRA_DATA: data, Self.EXTRA_PAYLOAD: data.payload])
        if let command { isDone = !dispatch(command, data, finish) }
      }
    }
  }

  /// - Returns: whether `finish` is called later, and not by the caller.
  private func dispatch(
    _ command: NotificationCommand, _ data: SilentPushData, _ finish: @escaping @Sendable () -> Void
  ) -> Bool {
    CONFIG.sensorObserver?.onCommandReceived(command: command, data: data)
    var extras: [String: Any] = [Self.EXTRA_DATA: data, Self.EXTRA_COMMAND: command.rawValue]
    switch command {
    case .sync:
      post(.actionAwareNotificationCommandSync, extras)
      guard syncsOnCommand else { return false }
      startSync(force: true) { _ in finish() }
      return true
    case .restart:
      post(.actionAwareNotificationCommandRestart, extras)
    case .configUpdate(let url):
      extras[Self.EXTRA_CONFIG_URL] = url
      post(.actionAwareNotificationCommandConfigUpdate, extras)
    case .custom:
      post(.actionAwareNotificationCommandCustom, extras)
    }
    return false
  }

  /// On the callback queue.
  func tell(_ error: AwareNotificationError) {
    CONFIG.sensorObserver?.onError(error)
    post(.actionAwareNotificationError, [Self.EXTRA_ERROR: error])
  }
}
