import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing
import com_awareframework_ios_sensor_notification

// The README's Swift, word for word, compiled. UIKit's types are small stand-ins here.

class UIResponder {}
@MainActor final class UIApplication {
  func registerForRemoteNotifications() {}
  struct LaunchOptionsKey: Hashable {}
}
@MainActor protocol UIApplicationDelegate {}
/// Whatever gives the app its key.
private func keyFromYourKeychain() -> String { Keys.rawText }

// README: begin
class AppDelegate: UIResponder, UIApplicationDelegate {
  let notificationSensor = NotificationSensor(
    NotificationSensor.Config().apply { config in
      config.dbType = Engine.DatabaseType.sqlite
      config.dbEncryptionKey = keyFromYourKeychain()
      config.sensorObserver = Observer()
    })

  func application(
    _ application: UIApplication, didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    notificationSensor.start()
    application.registerForRemoteNotifications()
    return true
  }

  func application(
    _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
  ) {
    notificationSensor.setDeviceToken(deviceToken)
  }

  func application(
    _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
    fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
  ) {
    notificationSensor.handleSilentPush(userInfo: userInfo, fetchCompletionHandler: completionHandler)
  }
}

class Observer: NotificationObserver {
  func onNotificationReceived(data: NotificationData) {
    print("Notification:", data.title, data.body)
  }

  func onDeviceTokenUpdated(data: NotificationTokenData) {
    print("APNs token:", data.token)
  }

  func onSilentPushReceived(data: SilentPushData) {
    print("Silent push payload:", data.payload)
  }

  func onCommandReceived(command: NotificationCommand, data: SilentPushData) {
    print("Command:", command.rawValue)
  }

  func onError(_ error: AwareNotificationError) {
    print("Not stored:", error.message)
  }
}
// README: end

extension SensorTests {
  @Suite("The README") struct Readme {
    private let folder = TemporaryFolder()

    @Test("Sending records") func sendingRecords() throws {
      func studyKeyFromYourKeychain() -> String { "study key" }
      func signingKeyFromYourKeychain() -> Data { Data(repeating: 1, count: 32) }
      let config = NotificationSensor.Config()
      // README: begin
      config.dbHost = "study.example.org"
      config.serverType = .aware_micro
      config.studyNumber = 7
      config.studyKey = studyKeyFromYourKeychain()
      config.syncSigningKey = signingKeyFromYourKeychain()
      // README: end
      #expect(config.syncSigningKey?.count == 32)
    }

    @Test("Reading a store") func readingAStore() throws {
      let keyPath = folder.write("study.key", Keys.rawText + "\n")
      let storePath = folder.path("study.db")
      _ = try NotificationStore.create(storePath, key: try Keys.raw)
      // README: begin
      let key = try KeyFile.read(keyPath)
      let store = try NotificationStore(.init(path: storePath, key: key, access: .readOnly))
      var cursor = store.notifications.cursor()
      while let notification = try cursor.next() {
        print(notification.title, notification.body)
      }
      try store.close()
      // README: end
    }

    @Test("Every Swift block of the README is one that is compiled here") func compiled() throws {
      let readme = try String(contentsOfFile: Program.root + "/README.md", encoding: .utf8)
      let source = try String(contentsOfFile: #filePath, encoding: .utf8)
      let compiled = source.components(separatedBy: "// README: " + "begin\n").dropFirst().map { part in
        let lines = part.components(separatedBy: "// README: " + "end")[0].split(
          separator: "\n", omittingEmptySubsequences: false
        ).dropLast()
        let indent = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        return lines.map { String($0.dropFirst(indent)) + "\n" }.joined()
      }
      let blocks = readme.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
      // The others need Apple's own types.
      let isApples = { (block: String) in
        block.contains("AwareNotificationService") || block.contains("KeychainKeyStore")
      }
      #expect(blocks.filter { !isApples($0) } == Array(compiled))
    }
  }
}
