import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// Rows that another program inserted into a store, with the columns that it knows.
@Suite("Rows of other programs") struct ForeignRowsTests {
  private static let common = "timestamp, deviceId, label, timezone, os, jsonVersion"
  private static let columns = [
    "ios_notification":
      "\(common), notificationId, title, body, categoryIdentifier, bundleIdentifier, sound, badge, threadIdentifier, "
      + "interruptionLevel", "ios_notification_token": "\(common), token", "ios_silent_push": "\(common), payload",
  ]

  /// Rows with the columns of the public sensor only: two by one statement, and one by another.
  private static func inserts(_ table: String, timezone: Int = -4) -> String {
    let values =
      "(1764460861000, 'other', '', \(timezone), 'iOS', 1, '1'"
      + (table == "ios_notification" ? ", 'title', 'body', '', '', '', 0, '', 1)" : ")")
    let insert = "INSERT INTO \(table) (\(columns[table] ?? "")) VALUES \(values)"
    return "\(insert), \(values); \(insert);"
  }

  /// Inserts as the stock shell does, with its triggers on.
  private func insertByShell(_ study: Study, _ sql: String) throws {
    let input = "PRAGMA key = \"\(Keys.rawText)\";\n\(sql)\n"
    let result = try Program.run(Program.shell, [study.database], input: input)
    #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
  }

  @Test(
    "become complete records, by the stock shell and by SQLite's calls, in all tables",
    .enabled(if: FileManager.default.fileExists(atPath: Program.shell), "the sqlcipher shell is not installed"))
  func complete() throws {
    let uploading = try UploadingStudy(pushes: 2)
    let study = uploading.study
    for table in NotificationStore.tables {
      try insertByShell(study, Self.inserts(table))
      #expect(try RawSQLite(study.database, key: Keys.raw).execute(Self.inserts(table)) == 0)
    }
    #expect(try study.run("record", input: Study.pushes(1)).status == 0)
    let verified = try study.run("verify")
    #expect(verified.status == 0, "\(verified.output)")
    #expect(try study.run("list").lines.count == 2 + 18)

    let rows = try study.run("export").lines.compactMap { JSON.parse($0) as? [String: Any] }
    let foreign = rows.filter { $0["deviceId"] as? String == "other" }
    #expect(rows.count == 20 && foreign.count == 18)
    let form = try Regex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
    for row in foreign {
      #expect((row["recordId"] as? String)?.wholeMatch(of: form) != nil)
      #expect(row["timezoneOffset"] as? Int == -240 && row["jsonVersion"] as? Int == 2)
      if row["table"] as? String == "ios_notification" { #expect(row["source"] as? String == "import") }
    }
    #expect(Set(rows.compactMap { $0["recordId"] as? String }).count == 20)

    let receiver = try UploadingStudy.receiver()
    let synced = try uploading.sync(receiver.port)
    #expect(synced.status == 0, "\(synced.errors)")
    #expect(NotificationStore.tables.map { receiver.distinctRecordIds(in: $0) } == [8, 6, 6])
    #expect(try study.run("verify").status == 0)
  }

  @Test("keep what they bring: an identity of their own, and the minutes of their time zone")
  func whatTheyBring() throws {
    let study = Study()
    try study.run("record", input: Study.pushes(1))
    let raw = RawSQLite(study.database, key: try Keys.raw)
    let row = "1764460861000, 'other', 5, 'iOS', 2, '{}'"
    let columns = "timestamp, deviceId, timezone, os, jsonVersion, payload"
    let id = "6988a70f-c647-8066-ab88-4068314a0d9d"
    #expect(
      raw.execute(
        """
        INSERT INTO ios_silent_push (\(columns), timezoneOffset) VALUES (\(row), 330);
        INSERT INTO ios_silent_push (\(columns), recordId) VALUES (\(row), '\(id)');
        """) == 0)
    raw.close()
    let rows = try study.run("export", "--table", "ios_silent_push").lines.compactMap {
      JSON.parse($0) as? [String: Any]
    }
    #expect(rows.map { $0["timezoneOffset"] as? Int } == [330, 0])
    #expect(rows.last?["recordId"] as? String == id && rows.first?["recordId"] as? String != id)
    #expect(try study.run("verify").status == 0)
  }

  @Test("are never merged with a push")
  func merging() throws {
    let study = Study()
    try study.run("record", input: Study.pushes(1))
    #expect(try RawSQLite(study.database, key: Keys.raw).execute(Self.inserts("ios_notification")) == 0)
    let push = #"{"id":"1","receivedAt":1764460861000,"payload":{"aps":{"alert":{"title":"title","body":"body"}}}}"#
    try study.run("record", input: push + "\n")
    #expect(try study.run("list").lines.count == 5)
  }
}
