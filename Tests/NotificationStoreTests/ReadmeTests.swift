import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// The README's Swift, word for word.
@Suite struct ReadmeTests {
  private let folder = TemporaryFolder()

  @Test func usingItInAnApp() throws {
    let keyPath = folder.write("study.key", Keys.rawText + "\n")
    let storePath = folder.path("study.db")
    let userInfo: [AnyHashable: Any] = ["aps": ["alert": "text"]]
    // README: begin
    let key = try KeyFile.read(keyPath)
    let store = try NotificationStore(.init(path: storePath, key: key))

    // A push, as the system hands it over.
    try store.record(PushRecords(payload: userInfo, identifier: "request-1", bundle: "org.example.app"))

    // What was recorded, page by page.
    var cursor = store.notifications.cursor()
    while let notification = try cursor.next() {
      print(notification.title, notification.body)
    }
    try store.close()
    // README: end
    #expect(FileManager.default.fileExists(atPath: storePath))
  }

  @Test func theReadmesSnippetIsTheOneAbove() throws {
    let readme = try String(contentsOfFile: Program.root + "/README.md", encoding: .utf8)
    let source = try String(contentsOfFile: #filePath, encoding: .utf8)
    let compiled = try #require(source.components(separatedBy: "// README: begin\n").dropFirst().first)
      .components(separatedBy: "    // README: end")[0]
      .split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.hasPrefix("    ") ? String($0.dropFirst(4)) : String($0) }.joined(separator: "\n")
    let snippets = readme.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    #expect(snippets == [compiled])
  }
}
