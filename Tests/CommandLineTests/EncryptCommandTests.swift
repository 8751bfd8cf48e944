import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@Suite struct EncryptCommandTests {
  private let study = Study()

  @Test(arguments: [false, true]) func aPlaintextStoreIsEncryptedInItsPlace(isKilled: Bool) throws {
    try PublicSensor.make(study.database, isKilled: isKilled)
    // What the other commands say of it names this one.
    #expect(try study.run("list").errors.contains("is not encrypted: run encrypt"))
    let result = try study.run("encrypt")
    #expect(result.status == 0 && result.errors.isEmpty)
    #expect(
      result.lines.dropFirst() == [
        "ios_notification: 4 records", "ios_notification_token: 1 records", "ios_silent_push: 1 records",
        "device id: 5B3E0F9C-6D0A-4E0B-9F63-1B7A4C2D9E11",
      ])
    #expect(result.lines[0].hasPrefix("encrypted in its place: ") && result.lines[0].hasSuffix("/study.db"))
    #expect(study.folder.names == ["study.db", "study.key"])
    #expect(PublicSensor.plaintext(in: study.folder.contents) == [])
    // A line has the columns of every table that is exported with it.
    let tables = try NotificationStore.tables.map { try study.run("export", "--table", $0).output }
    #expect(try tables.joined() == Fixture.text("v2_expected.jsonl"))
    #expect(try study.run("verify").status == 0)
  }

  @Test func cursorDeviceIdAndAReportForPrograms() throws {
    try PublicSensor.make(study.database)
    let result = try study.run(
      "encrypt", "--json", "--device-id", "mine", "--synced-through", "ios_notification=2",
      "--synced-through=ios_silent_push=1")
    let report = try #require(JSON.parse(result.output) as? [String: Any])
    #expect(report["adopted"] as? Bool == true && report["onlyFinished"] as? Bool == false)
    #expect(report["deviceId"] as? String == "mine")
    let counts = ["ios_notification": 4, "ios_notification_token": 1, "ios_silent_push": 1]
    #expect(report["counts"] as? [String: Int] == counts)
    let status = try #require(JSON.parse(study.run("status", "--json").output) as? [String: Any])
    let pending = ["ios_notification": 2, "ios_notification_token": 1, "ios_silent_push": 0]
    #expect(status["pending"] as? [String: Int] == pending)
  }

  @Test func aCursorOfAnotherFileIsRefused() throws {
    try PublicSensor.make(study.database)
    let before = study.folder.contents
    let result = try study.run("encrypt", "--synced-through", "ios_notification=13")
    #expect(result.status == 1 && result.output.isEmpty)
    for part in ["ios_notification is 13,", "largest id", "is 12,", "belongs to another file"] {
      #expect(result.errors.contains(part), "\(result.errors)")
    }
    #expect(study.folder.contents == before)
    #expect(try study.run("encrypt", "--synced-through", "ios_notification=12").status == 0)
  }

  @Test func whatIsEncryptedAlreadyIsNothingToDo() throws {
    try study.run("init")
    let before = study.folder.contents
    let result = try study.run("encrypt")
    #expect(result.status == 0 && result.output == "nothing to do: \(study.database) is encrypted already\n")
    let report = JSON.parse(try study.run("encrypt", "--json").output) as? [String: Any]
    #expect(report?["adopted"] as? Bool == false)
    let other = study.folder.write("other.key", "another key")
    let wrong = try Program.run(Program.tool, ["encrypt", "--db", study.database, "--key-file", other])
    #expect(wrong.status == 1 && wrong.errors.contains("does not open with this key"))
    #expect(unlink(other) == 0)
    #expect(study.folder.contents == before)
    let absent = try Program.run(
      Program.tool, ["encrypt", "--db", study.folder.path("absent"), "--key-file", study.keyFile])
    #expect(absent.status == 1 && absent.errors.contains("there is no such file"))
  }

  @Test func anAdoptionThatWasCutShortIsFinished() throws {
    try PublicSensor.make(study.database, isKilled: true)
    _ = try Program.run(Program.helper, ["adopt", study.database, study.keyFile, "published"])
    let left = study.folder.names.filter { !$0.hasPrefix("study.db.new-") }
    #expect(left == ["study.db", "study.db.adopting", "study.db.lock", "study.key"])
    let other = study.folder.write("other.key", "another key")
    let wrong = try Program.run(Program.tool, ["encrypt", "--db", study.database, "--key-file", other])
    #expect(wrong.status == 1 && wrong.errors.contains("is kept as"))
    #expect(unlink(other) == 0)
    let result = try study.run("encrypt")
    #expect(result.status == 0 && result.output.hasPrefix("removed the plaintext that an interrupted run had left"))
    #expect(study.folder.names == ["study.db", "study.key"])
    #expect(PublicSensor.plaintext(in: study.folder.contents) == [])
  }

  @Test func tablesOfOtherSensorsAreNamed() throws {
    try PublicSensor.make(
      study.database, isKilled: false, "CREATE TABLE ios_battery (x); CREATE TABLE \"a\u{1b}[2J\" (x)")
    let before = study.folder.contents
    let result = try study.run("encrypt")
    #expect(result.status == 1 && result.output.isEmpty)
    #expect(result.errors.contains("also holds a\\u{1b}[2J, ios_battery, which are not of the notification sensor"))
    #expect(study.folder.contents == before)
  }

  @Test(arguments: [
    ["--synced-through", "other=1"], ["--synced-through", "ios_notification"], ["--device-id", ""],
    ["--synced-through", "ios_notification=-1"], ["--synced-through", "ios_notification=x"],
    ["--synced-through", "ios_notification=1", "--synced-through", "ios_notification=2"],
  ])
  func aWrongCallChangesNothing(options: [String]) throws {
    try PublicSensor.make(study.database)
    let before = study.folder.contents
    let result = try Program.run(
      Program.tool, ["encrypt", "--db", study.database, "--key-file", study.keyFile] + options)
    #expect(result.status == 2 && result.errors.contains(options[0]))
    #expect(study.folder.contents == before)
  }
}
