import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing
import com_awareframework_ios_sensor_notification

// The README's Swift, word for word, compiled. What belongs into an app or its extension is compiled by Scripts/apple-check.

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

    /// What an app's or an extension's blocks are known by.
    private static let words = [
      "UNNotificationServiceExtension", "AwareNotificationService", "AppDelegate", "KeychainKeyStore",
    ]

    @Test("Every Swift block of the README is compiled, here or by Scripts/apple-check") func compiled() throws {
      let readme = try String(contentsOfFile: Program.root + "/README.md", encoding: .utf8)
      let script = try String(contentsOfFile: Program.root + "/Scripts/apple-check", encoding: .utf8)
      #expect(script.contains("/" + Self.words.joined(separator: "|") + "/"))
      let source = try String(contentsOfFile: #filePath, encoding: .utf8)
      let compiled = source.components(separatedBy: "// README: " + "begin\n").dropFirst().map { part in
        let lines = part.components(separatedBy: "// README: " + "end")[0].split(
          separator: "\n", omittingEmptySubsequences: false
        ).dropLast()
        let indent = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        return lines.map { String($0.dropFirst(indent)) + "\n" }.joined()
      }
      let blocks = readme.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
      #expect(blocks.filter { block in !Self.words.contains { block.contains($0) } } == Array(compiled))
    }
  }
}
