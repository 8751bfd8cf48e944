import EncryptedSQLite
import NotificationStore
import Testing
import UserNotifications

@testable import com_awareframework_ios_sensor_notification

/// An app's delegate with both methods.
private final class Delegate: NSObject, StubWillPresent, StubDidReceive {
  let calls = Locked<[String]>([])

  func userNotificationCenter(
    _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
    withCompletionHandler completionHandler: @escaping @Sendable (UNNotificationPresentationOptions) -> Void
  ) {
    calls.withLock { $0.append("willPresent " + notification.request.identifier) }
    completionHandler([.badge])
  }

  func userNotificationCenter(
    _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
    withCompletionHandler completionHandler: @escaping @Sendable () -> Void
  ) {
    calls.withLock { $0.append("didReceive " + response.notification.request.identifier) }
    completionHandler()
  }
}

/// One without any.
private final class SilentDelegate: NSObject, UNUserNotificationCenterDelegate {}

extension AppleSources {
  @Suite struct Proxy {
    private let center = UNUserNotificationCenter()
    private let received = Locked<[ReceivedNotification]>([])

    private func integration() -> SystemPushIntegration {
      let center = center
      return SystemPushIntegration { center }
    }

    private func install(_ integration: SystemPushIntegration) {
      let received = received
      integration.install { notification in received.withLock { $0.append(notification) } }
    }

    private func notification() -> UNNotification {
      var values = UNNotificationContent.StubValues()
      values.title = "Anna"
      values.body = "See you at 8"
      values.categoryIdentifier = "chat"
      values.threadIdentifier = "anna"
      values.sound = .default
      values.badge = 3
      values.interruptionLevel = .timeSensitive
      return UNNotification(
        stubRequest: UNNotificationRequest(stubIdentifier: "push-1", content: UNNotificationContent(stub: values)))
    }

    /// What the system does with a notification that comes while the app is in front.
    private func present() -> UNNotificationPresentationOptions? {
      let options = Locked<UNNotificationPresentationOptions?>(nil)
      (center.delegate as? any StubWillPresent)?.userNotificationCenter(center, willPresent: notification()) {
        options.replace(with: $0)
      }
      return options.snapshot
    }

    /// What the system does when somebody acts on it.
    private func act() -> Bool {
      let isDone = Locked(false)
      (center.delegate as? any StubDidReceive)?.userNotificationCenter(
        center, didReceive: UNNotificationResponse(stubNotification: notification())
      ) { isDone.replace(with: true) }
      return isDone.snapshot
    }

    @Test("A notification is recorded with all that the sensor keeps of it, and the app's delegate decides")
    func passedOn() throws {
      let app = Delegate()
      center.delegate = app
      let integration = integration()
      install(integration)
      #expect(present() == [.badge])
      #expect(act())
      #expect(app.calls.snapshot == ["willPresent push-1", "didReceive push-1"])
      #expect(received.snapshot.map(\.source) == [.foreground, .response])
      let first = try #require(received.snapshot.first)
      #expect(first.identifier == "push-1" && first.title == "Anna" && first.body == "See you at 8")
      #expect(first.categoryIdentifier == "chat" && first.threadIdentifier == "anna")
      #expect(first.hasSound && first.badge == 3 && first.interruptionLevel == 2)
      integration.remove()
      #expect(center.delegate === app)
    }

    @Test("Without a delegate, or a method of it, it is shown as the public sensor shows it") func otherwise() {
      let integration = integration()
      install(integration)
      #expect(present() == [.banner, .sound, .badge])
      #expect(act())
      integration.remove()
      #expect(center.delegate == nil)

      let silent = SilentDelegate()
      center.delegate = silent
      install(integration)
      #expect(present() == [.banner, .sound, .badge])
      #expect(act())
      integration.remove()
      #expect(center.delegate === silent)
    }

    @Test("A program without a bundle leaves the notification center alone") func withoutBundle() {
      let integration = SystemPushIntegration()
      integration.install { _ in }
      integration.requestPermission { _ in }
      #expect(UNUserNotificationCenter.current().delegate == nil)
      #expect(UNUserNotificationCenter.current().stubOptions == nil)
    }

    @Test("Permission is asked for alerts, sounds and badges") func permission() {
      let reported = Locked<[String?]>([])
      integration().requestPermission { error in reported.withLock { $0.append(error) } }
      #expect(center.stubOptions == [.alert, .sound, .badge])
      #expect(reported.snapshot == [nil])
    }
  }
}
