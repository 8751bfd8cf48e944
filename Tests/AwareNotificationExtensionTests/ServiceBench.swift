import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import com_awareframework_ios_sensor_notification

@testable import AwareNotificationExtension

/// A recorder on a store in a folder of its own, with all that it says.
final class ServiceBench {
  let folder = TemporaryFolder()
  let config = NotificationSensor.Config()
  let errors = Locked<[AwareNotificationError]>([])
  let handed = Locked<[NotificationContent]>([])
  private let hand = DispatchSemaphore(value: 0)
  private(set) var recorder: NotificationServiceRecorder!

  var path: String { folder.path("store.sqlite") }

  init(
    key: String? = Keys.rawText, hasStore: Bool = true, budget: TimeInterval = 20,
    configure: (NotificationSensor.Config) -> Void = { _ in },
    transform: NotificationServiceRecorder.Transform? = nil
  ) throws {
    config.dbType = .sqlite
    config.dbEncryptionKey = key
    config.dbPath = path
    configure(config)
    if hasStore { try NotificationStore(.init(path: path, key: try Keys.raw)).close() }
    let errors = errors
    recorder = NotificationServiceRecorder(config, budget: budget, receiptLimit: 3, transform: transform) { error in
      errors.withLock { $0.append(error) }
    }
  }

  static func push(_ number: Int = 1) -> DeliveredNotification {
    DeliveredNotification(
      identifier: "push-\(number)",
      content: NotificationContent(
        title: "Ada", subtitle: "sub", body: "body \(number)", badge: 3, categoryIdentifier: "cat",
        threadIdentifier: "thread", payload: #"{"aps":{"mutable-content":1},"image":"x.png"}"#), hasSound: true,
      interruptionLevel: 2)
  }

  /// Hands a push over and waits until its content comes back; false when it does not within `limit` seconds.
  @discardableResult
  func deliver(_ push: DeliveredNotification = push(), within limit: TimeInterval = 30) -> Bool {
    begin(push)
    return wait(limit)
  }

  func begin(_ push: DeliveredNotification = push()) {
    let (handed, hand) = (handed, hand)
    recorder.didReceive(push) { content in
      handed.withLock { $0.append(content) }
      hand.signal()
    }
  }

  func wait(_ limit: TimeInterval = 30) -> Bool { hand.wait(timeout: .now() + limit) == .success }

  /// Waits until `condition` holds, for at most 20 seconds.
  func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
    for _ in 0..<2000 {
      if try condition() { return true }
      usleep(10_000)
    }
    return false
  }

  /// Opens the store as the app would, which takes in what waits.
  func stored<Result>(_ body: (NotificationStore) throws -> Result) throws -> Result {
    let store = try NotificationStore(.init(path: path, key: try Keys.raw))
    defer { try? store.close() }
    return try body(store)
  }

  var identifiers: [String] {
    get throws { try stored { try $0.notifications.page(limit: 10_000).map(\.notificationId) } }
  }

  var spooled: Int { NotificationSpool(besideStore: path).count() }
}
