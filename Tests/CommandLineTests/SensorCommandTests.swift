import Foundation
import TestSupport
import Testing

/// What the command line does through the sensor, as an app would.
@Suite struct SensorCommandTests {
  private let study = Study()
  private let prefix = "broadcast com.awareframework.ios.sensor.notification"

  @Test("record reports the commands that pushes bring") func commands() throws {
    let lines = [
      #"{"aps":{"content-available":1},"aware_command":"sync"}"#,
      #"{"aps":{"content-available":1},"aware_command":"go\nnow"}"#,
      #"{"aps":{"alert":"text"},"aware_command":"not a silent push"}"#,
    ]
    let result = try study.run("record", input: lines.joined(separator: "\n") + "\n")
    #expect(result.status == 0)
    #expect(result.lines == ["command sync", #"command go\nnow"#, "committed 3"])
  }

  @Test("record --broadcasts prints what an app would get, in order") func broadcasts() throws {
    let lines = [
      #"{"aps":{"alert":"text"}}"#, #"{"aps":{"content-available":1},"aware_command":"restart"}"#,
    ]
    let result = try study.run("record", "--broadcasts", input: lines.joined(separator: "\n") + "\n")
    #expect(
      result.lines == [
        prefix + ".SENSOR_START", prefix + ".RECEIVED", prefix + ".SILENT_PUSH_RECEIVED", "command restart",
        prefix + ".COMMAND_RESTART", "committed 2", prefix + ".SENSOR_STOP",
      ])
  }

  @Test("record leaves a plaintext store alone and names encrypt") func plaintext() throws {
    let plain = RawSQLite(study.database)
    plain.execute("CREATE TABLE ios_notification (id INTEGER PRIMARY KEY)")
    let before = study.folder.contents
    let result = try study.run("record", input: "{}\n")
    #expect(result.status == 1)
    #expect(result.errors.contains("encrypt"))
    #expect(study.folder.contents == before)
    withExtendedLifetime(plain) {}
  }

  @Test("token stores a device token", arguments: [true, false]) func token(_ isOperand: Bool) throws {
    let result =
      isOperand
      ? try study.run("token", "--label", "pilot", "--broadcasts", "00FFab")
      : try study.run("token", "--label", "pilot", "--broadcasts", input: "00FFab\n")
    #expect(result.status == 0)
    #expect(
      result.lines == [
        prefix + ".SENSOR_START", prefix + ".TOKEN_UPDATED", prefix + ".SENSOR_STOP", "the token is stored",
      ])
    let rows = try study.run("list", "--json", "--table", "ios_notification_token").lines
    let row = try #require(JSON.parse(rows[0]) as? [String: Any])
    #expect(rows.count == 1)
    #expect(row["token"] as? String == "00ffab")
    #expect(row["label"] as? String == "pilot")
  }

  @Test("What is no token is refused before a store is made", arguments: ["", "00f", "xyz1", "00 ff", "é0"])
  func noToken(_ text: String) throws {
    let result = try study.run("token", input: text + "\n")
    #expect(result.status == 2)
    #expect(result.errors.contains("hexadecimal"))
    #expect(study.folder.names == ["study.key"])
  }

  @Test("token and record fail clearly under a wrong key, and change nothing", arguments: ["token", "record"])
  func wrongKey(_ command: String) throws {
    #expect(try study.run("init").status == 0)
    let before = study.folder.contents
    let other = study.folder.write("other.key", "other words\n")
    let result = try Program.run(
      Program.tool, [command, "--db", study.database, "--key-file", other], input: "00ff\n")
    #expect(result.status == 1)
    #expect(result.output == "")
    #expect(result.errors.contains("key"))
    #expect(study.folder.contents.filter { $0.key != "other.key" } == before)
  }
}
