import AwareNotificationExtension
import EncryptedSQLite
import Foundation
import NotificationStore
import com_awareframework_ios_sensor_notification

/// The pushes of one study, as its app and its service extension get them, each in a process of its own.
enum Pushes {
  private static func config(_ path: String, _ key: EncryptionKey) -> NotificationSensor.Config {
    let config = NotificationSensor.Config()
    config.dbType = .sqlite
    config.dbPath = path
    config.dbEncryptionKey = key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    config.callbackQueue = DispatchQueue(label: "callbacks")
    return config
  }

  /// Hands the pushes of `range` to a sensor, some at a time, and prints the number of the last that is safe.
  static func app(_ path: String, _ key: EncryptionKey, _ range: Range<Int>) {
    let sensor = NotificationSensor(config(path, key), log: { _ in })
    sensor.start()
    for start in stride(from: range.lowerBound, to: range.upperBound, by: 5) {
      let numbers = start..<min(range.upperBound, start + 5)
      let done = DispatchSemaphore(value: 0)
      sensor.handle(
        numbers.map { number in
          let payload = ["aps": ["alert": ["title": "title", "body": "body \(number)"]]]
          return PushPayload(
            payload: payload, text: PayloadJSON.text(payload), identifier: "push-\(number)", bundle: "",
            receivedAt: UnixTime.milliseconds())
        }
      ) { error in
        if let error { say("failed \(error.code.rawValue)") } else { say("safe \(numbers.upperBound)") }
        done.signal()
      }
      done.wait()
    }
    sensor.suspend()
  }

  /// Hands the pushes of `range` to the service extension's recorder, one after another, and prints the number of the last
  /// that is safe, and how long each took in milliseconds.
  static func `extension`(_ path: String, _ key: EncryptionKey, _ range: Range<Int>) {
    let recorder = NotificationServiceRecorder(config(path, key), onError: { say("failed \($0.code.rawValue)") })
    for number in range {
      let done = DispatchSemaphore(value: 0)
      let start = DispatchTime.now()
      recorder.didReceive(
        DeliveredNotification(
          identifier: "push-\(number)", content: NotificationContent(title: "title", body: "body \(number)"),
          interruptionLevel: 1)
      ) { _ in
        done.signal()
      }
      done.wait()
      say("safe \(number + 1) \((DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1_000_000)")
    }
  }

  /// Has a sensor rotate the key of a store, and prints the outcome, the keys at hand then, and the result of a push.
  static func rotate(_ path: String, _ old: EncryptionKey, _ new: EncryptionKey, keyStore: String?) {
    let config = config(path, old)
    let kept = keyStore.map { FileKeyStore(path: $0) }
    if let kept { (config.dbEncryptionKey, config.encryptionKeyStore) = (nil, kept) }
    let sensor = NotificationSensor(config, log: { _ in })
    sensor.start()
    let done = DispatchSemaphore(value: 0)
    sensor.rotateEncryptionKey(to: new) { result in
      // Read before anything is printed, for that ends a fault of the disk.
      let loaded = try? kept?.load()
      let configured = config.encryptionKey ?? (try? config.dbEncryptionKey.map { try EncryptionKey($0) })
      let keys =
        kept == nil ? [configured, config.previousEncryptionKey] : [loaded?.current, loaded?.staged]
      let names = keys.compactMap { $0 }.map { $0 == old ? "old" : $0 == new ? "new" : "another" }
      switch result {
      case .success: say("rotated")
      case .failure(let error): say(error.code.rawValue)
      }
      say(names.joined(separator: " "))
      done.signal()
    }
    done.wait()
    sensor.handleSilentPush(userInfo: ["n": 2]) { result in
      say("\(result)")
      done.signal()
    }
    done.wait()
    sensor.suspend()
  }

  /// Hands a push to a sensor that has no app group.
  static func alone(_ key: EncryptionKey, _ identifier: String) {
    let sensor = NotificationSensor(config("shared", key), log: { say($0) })
    sensor.start()
    sensor.handle(ReceivedNotification(identifier: identifier, title: "alone"))
    sensor.suspend()
  }

  /// Sets a label while something else has the lock on the group's settings.
  static func label(_ key: EncryptionKey, _ identifier: String) throws {
    let config = config("shared", key)
    config.appGroupIdentifier = identifier
    let group = try AppGroup(identifier)
    let lock = try PathLock(group.folder + "/settings.json", timeout: 0)
    let sensor = NotificationSensor(config, log: { say($0) })
    sensor.set(label: "later")
    say("label \(group.setting("aware.label") ?? "none")")
    lock.release()
    let done = DispatchSemaphore(value: 0)
    sensor.whenIdle { done.signal() }
    done.wait()
    say("label \(group.setting("aware.label") ?? "none")")
  }

  /// Shares a store between a sensor and a recorder in an app group.
  static func group(_ key: EncryptionKey, _ identifier: String) {
    let config = config("shared", key)
    config.appGroupIdentifier = identifier
    config.label = "label of the app"
    config.deliveryReceiptURL = "https://localhost:1/receipt"
    let sensor = NotificationSensor(config, log: { say($0) })
    sensor.start()
    sensor.suspend()
    config.label = ""
    config.deliveryReceiptURL = nil
    let done = DispatchSemaphore(value: 0)
    NotificationServiceRecorder(
      config,
      transform: { content, settings in
        say("label \(settings?.label ?? "none"), receipts to \(settings?.deliveryReceiptURL ?? "none")")
        return content
      }, onError: { say("failed \($0.code.rawValue)") }
    ).didReceive(DeliveredNotification(identifier: "push", content: NotificationContent(title: "title"))) { _ in
      done.signal()
    }
    done.wait()
  }
}
