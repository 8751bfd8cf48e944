import EncryptedSQLite
import Foundation
import NotificationStore

extension NotificationSensor {
  /// Call it from the app delegate when APNs has given a device token: stores the token and tells observers.
  public func setDeviceToken(_ deviceToken: Data) {
    setDeviceToken(deviceToken.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()) { _ in }
  }

  /// - Parameters:
  ///   - text: the token's bytes in hexadecimal.
  ///   - finish: called once on the callback queue, with the error if the token could not be stored.
  package func setDeviceToken(_ text: String, finish: @escaping (AwareNotificationError?) -> Void) {
    var token = NotificationTokenData(label: CONFIG.label)
    token.deviceId = deviceIdOfRecords
    token.token = text
    let finish = Carried(finish)
    let sensor = Carried(self)
    store([
      .init(item: .token(token)) { outcome in
        sensor.value.onCallbackQueue {
          sensor.value.tell(outcome.item, command: nil)
          finish.value(outcome.error)
        }
      }
    ])
  }

  /// Call it from the app delegate for each remote notification: stores the whole payload, tells observers, and carries
  /// out the command that the payload may have.
  ///
  /// - Parameter completionHandler: called once, within 25 seconds and after a sync that the push commands, as far as that
  ///   is done by then: with `.newData`, or with `.failed` when the push could not be stored.
  public func handleSilentPush(
    userInfo: [AnyHashable: Any], fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
  ) {
    let completion = PushCompletion(on: CONFIG.callbackQueue, within: completionLimit, completionHandler)
    var data = SilentPushData(label: CONFIG.label)
    data.payload = PayloadJSON.text(userInfo)
    let command = NotificationCommand(userInfo: userInfo)
    let sensor = Carried(self)
    store([
      arrival(PushRecords(silentPush: data), whenStored: completion.noteSafe) { push, _ in
        sensor.value.tell(.push(push), command: command) { completion.finish() }
      }
    ])
  }

  /// Takes a notification that was delivered while the app was in the foreground, or that the person acted on.
  ///
  /// On Apple's systems the delegate proxy calls it.
  public func handle(_ notification: ReceivedNotification) {
    let sensor = Carried(self)
    store([
      arrival(PushRecords(notification: notification.record(label: CONFIG.label))) { push, _ in
        sensor.value.tell(.push(push), command: nil)
      }
    ])
  }

  /// Takes pushes by their payloads. Up to ``IntakeQueue/mostInCommit`` of them are stored together: all, or none.
  ///
  /// - Parameter finish: called once, on the callback queue, with the first error if one of them could not be stored.
  package func handle(_ pushes: [PushPayload], finish: @escaping (AwareNotificationError?) -> Void) {
    let label = CONFIG.label
    let sensor = Carried(self)
    let finish = Carried(finish)
    let failure = Locked<AwareNotificationError?>(nil)
    store(
      pushes.map { payload in
        let push = payload.records(label: label)
        let command = push.silentPush == nil ? nil : NotificationCommand(userInfo: payload.payload)
        return arrival(push) { push, error in
          failure.withLock { $0 = $0 ?? error }
          sensor.value.tell(.push(push), command: command)
        }
      })
    whenIdle { sensor.value.onCallbackQueue { finish.value(failure.snapshot) } }
  }

  /// - Parameters:
  ///   - whenStored: called when no row is missing, at once.
  ///   - tell: called once, on the callback queue, with the push as it was stored and the error if it was not.
  private func arrival(
    _ push: PushRecords, whenStored: @escaping @Sendable () -> Void = {},
    _ tell: @escaping @Sendable (PushRecords, AwareNotificationError?) -> Void
  ) -> IntakeQueue.Arrival {
    var push = push
    push.notification?.deviceId = deviceIdOfRecords
    push.silentPush?.deviceId = deviceIdOfRecords
    let sensor = Carried(self)
    return .init(item: .push(push)) { outcome in
      if outcome.error == nil { whenStored() }
      guard case .push(let push) = outcome.item else { return }
      sensor.value.onCallbackQueue { tell(push, outcome.error) }
    }
  }

  /// The configured device id, or the one that AWARE sensors share; "" leaves it to the store.
  private var deviceIdOfRecords: String {
    let configured = CONFIG.deviceId
    return configured.isEmpty ? CommonDeviceID.current ?? "" : configured
  }
}

extension IntakeQueue.Outcome {
  fileprivate var item: IntakeQueue.Item {
    switch self {
    case .stored(let item), .notKept(let item), .failed(let item, _): item
    }
  }

  fileprivate var error: AwareNotificationError? {
    if case .failed(_, let error) = self { error } else { nil }
  }
}
