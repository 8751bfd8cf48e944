import AwareNotificationExtension
import EncryptedSQLite
import NotificationStore
import Testing
import UserNotifications

@testable import com_awareframework_ios_sensor_notification

private final class Service: AwareNotificationService {
  struct Refusal: Error {}

  let folder = TemporaryFolder()
  var change: @Sendable (inout NotificationContent) async throws -> Void = { _ in }
  let errors = Locked<[AwareNotificationError.Code]>([])
  var path: String { folder.path("store.sqlite") }

  override func makeConfiguration() -> NotificationSensor.Config {
    NotificationSensor.Config().apply { config in
      config.dbType = .sqlite
      config.dbEncryptionKey = Keys.rawText
      config.dbPath = path
    }
  }

  override func transform(
    _ content: NotificationContent, settings: SharedSettings?
  ) async throws -> NotificationContent {
    var content = content
    try await change(&content)
    return content
  }

  override func onError(_ error: AwareNotificationError) { errors.withLock { $0.append(error.code) } }

  /// What the store holds.
  func stored() throws -> [NotificationData] {
    let store = try NotificationStore(.init(path: path, key: Keys.raw))
    defer { try? store.close() }
    return try store.notifications.page(limit: 10)
  }
}

/// What was handed on, and each time that it was.
private final class Handler: @unchecked Sendable {
  private let contents = Locked<[UNNotificationContent]>([])
  private let first = DispatchSemaphore(value: 0)

  func take(_ content: UNNotificationContent) {
    contents.withLock { $0.append(content) }
    first.signal()
  }

  var count: Int { contents.withLock { $0.count } }

  func wait() -> UNNotificationContent? {
    _ = first.wait(timeout: .now() + 60)
    return contents.withLock { $0.first }
  }
}

extension AppleSources {
  @Suite struct ServiceExtension {
    private let service = Service()
    private let handler = Handler()
    private let content: UNNotificationContent

    init() throws {
      _ = try NotificationStore.create(service.path, key: Keys.raw)
      var values = UNNotificationContent.StubValues()
      values.title = "Anna"
      values.subtitle = "work"
      values.body = "See you at 8"
      values.categoryIdentifier = "chat"
      values.threadIdentifier = "anna"
      values.badge = 3
      values.sound = .default
      values.userInfo = ["aps": ["mutable-content": 1], "room": "12"]
      values.interruptionLevel = .critical
      values.attachments = [
        try UNNotificationAttachment(
          identifier: "sent", url: URL(fileURLWithPath: service.folder.write("sent.png", "")), options: nil)
      ]
      content = UNNotificationContent(stub: values)
    }

    private func deliver() -> UNNotificationContent? {
      service.didReceive(
        UNNotificationRequest(stubIdentifier: "push-1", content: content), withContentHandler: handler.take)
      let shown = handler.wait()
      service.serviceExtensionTimeWillExpire()
      return shown
    }

    @Test("A push is recorded, and shown once as it came") func recorded() throws {
      #expect(deliver() === content)
      #expect(handler.count == 1)
      let rows = try service.stored()
      let row = try #require(rows.first)
      #expect(rows.count == 1)
      #expect(row.notificationId == "push-1" && row.title == "Anna" && row.body == "See you at 8")
      #expect(row.badge == 3 && row.sound == "default" && row.interruptionLevel == 3)
      #expect(row.categoryIdentifier == "chat" && row.threadIdentifier == "anna" && row.source == .extension)
      #expect(service.errors.snapshot == [])
    }

    @Test("What a transform changes is changed, and all else goes on as it came; the record is of what was sent")
    func transformed() throws {
      let picture = URL(fileURLWithPath: service.folder.write("picture.png", ""))
      let gone = URL(fileURLWithPath: service.folder.path("gone.png"))
      service.change = { content in
        #expect(content.userInfo["room"] as? String == "12")
        content.title = "A."
        content.body = "changed"
        content.badge = nil
        content.attachments = [.init(identifier: "added", url: picture), .init(identifier: "gone", url: gone)]
      }
      let shown = try #require(deliver())
      #expect(handler.count == 1)
      #expect(shown.title == "A." && shown.body == "changed" && shown.badge == nil)
      #expect(shown.subtitle == "work" && shown.categoryIdentifier == "chat" && shown.threadIdentifier == "anna")
      #expect(shown.sound === content.sound && shown.interruptionLevel == .critical)
      #expect(shown.userInfo["room"] as? String == "12" && shown.userInfo.count == 3)
      #expect(shown.attachments.map(\.identifier) == ["sent", "added"])
      #expect(content.title == "Anna" && content.attachments.count == 1)
      #expect(try service.stored().map(\.title) == ["Anna"])
    }

    @Test("The app, which is shown the changed content, knows it for the push that is recorded") func once() throws {
      service.change = { $0.body = "changed" }
      let shown = try #require(deliver())
      let delivery = ReceivedNotification(
        UNNotification(stubRequest: UNNotificationRequest(stubIdentifier: "push-1", content: shown)),
        source: .foreground)
      let store = try NotificationStore(.init(path: service.path, key: Keys.raw))
      #expect(try store.record(PushRecords(notification: delivery.record(label: ""))).isMerged)
      try store.close()
      #expect(try service.stored().map(\.body) == ["See you at 8"])
    }

    @Test("Each other property that a transform changes is changed") func properties() throws {
      service.change = { content in
        content.subtitle = "s"
        content.categoryIdentifier = "c"
        content.threadIdentifier = "t"
        content.badge = 9
      }
      let shown = try #require(deliver())
      #expect(shown.subtitle == "s" && shown.categoryIdentifier == "c" && shown.threadIdentifier == "t")
      #expect(shown.badge == 9 && shown.title == "Anna")
    }

    @Test("A transform that fails leaves the content as it came") func failing() throws {
      service.change = { content in
        content.title = "half done"
        throw Service.Refusal()
      }
      #expect(deliver() === content)
      #expect(handler.count == 1)
      #expect(service.errors.snapshot == [.transformFailed])
      #expect(try service.stored().count == 1)
    }

    @Test("When the system's time is up the content is handed on, once") func expiring() throws {
      let begun = DispatchSemaphore(value: 0)
      let goOn = Locked<CheckedContinuation<Void, Never>?>(nil)
      service.change = { content in
        content.title = "too late"
        await withCheckedContinuation { continuation in
          goOn.replace(with: continuation)
          begun.signal()
        }
      }
      service.didReceive(
        UNNotificationRequest(stubIdentifier: "push-1", content: content), withContentHandler: handler.take)
      begun.wait()
      #expect(handler.count == 0)
      service.serviceExtensionTimeWillExpire()
      #expect(handler.count == 1)
      #expect(handler.wait() === content)
      goOn.snapshot?.resume()
      service.serviceExtensionTimeWillExpire()
      #expect(handler.count == 1)
    }
  }
}
