import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// `list`, `export`, `status`, `verify`, `migrate` and `wipe`.
@Suite struct ReadingCommandTests {
  @Test func theSamplePushesComeOutOfTheExport() throws {
    let study = Study()
    for name in ["alerts", "silent"] {
      #expect(try study.run("record", Program.root + "/Examples/payloads/\(name).jsonl").status == 0)
    }
    let rows = try study.run("export").lines.map { JSON.parse($0) as! [String: Any] }
    // Of two samples nothing is visible: they are kept whole, as silent pushes.
    let blank: Set = ["00000000-0000-4000-8000-000000000009", "00000000-0000-4000-8000-000000000012"]
    let samples = try Fixture.payloads("alerts")
    let alerts = samples.filter { !blank.contains($0["id"] as! String) }
    let silent = try samples.filter { blank.contains($0["id"] as! String) } + Fixture.payloads("silent")
    #expect(alerts.count == 10 && silent.count == 13)
    let notifications = rows.filter { $0["table"] as? String == "ios_notification" }
    #expect(
      notifications.prefix(alerts.count).map { $0["notificationId"] as? String } == alerts.map { $0["id"] as? String })
    let payloads = rows.filter { $0["table"] as? String == "ios_silent_push" }.map { $0["payload"] as! String }
    #expect(payloads.count == silent.count)
    for (payload, sample) in zip(payloads, silent) {
      #expect(JSON.equal(try #require(JSON.parse(payload)), sample["payload"]!))
    }
  }

  private static let keys = [
    "it's", "\"double\"", "back\\slash", "nul\0inside", "🔑 e\u{301}", "  leading", "k",
    String(repeating: "long key ", count: 1100), "x'not raw", Keys.saltedText,
  ]

  /// By their number: an argument is a part of the test's name.
  @Test(arguments: keys.indices) func anyKeyMakesReopensAndExports(index: Int) throws {
    let key = Self.keys[index]
    let study = Study(key: key)
    #expect(try study.run("record", input: Study.pushes(2)).status == 0)
    let other = Study(key: key)
    let command = ["export", "--db", study.database, "--key-file", other.keyFile]
    #expect(try Program.run(Program.tool, command).lines.count == 2)
  }

  @Test(arguments: ["with space.db", "it's.db", "100%.db", "%41?a=b#c.db", "東京 🥾.db", "\"q\".db", "semi;colon.db"])
  func anyPathMakesReopensAndExports(name: String) throws {
    let study = Study()
    let database = study.folder.path(name)
    let options = ["--db", database, "--key-file", study.keyFile]
    #expect(try Program.run(Program.tool, ["record"] + options, input: Study.pushes(2)).status == 0)
    #expect(try Program.run(Program.tool, ["export"] + options).lines.count == 2)
    #expect(study.folder.names == [name, "study.key"].sorted())
    let other = try Program.run(
      Program.tool, ["list", "--db", database, "--key-file", study.folder.write("o", "other")])
    #expect(other.status == 1 && other.errors.contains("does not open with this key"))
  }

  @Test func listKeepsAPushFromDrivingTheTerminal() throws {
    let study = Study()
    let body = #"\u001b]0;owned\u0007\u001b[2J\u202egnp.exe\r\nsecond line\u009b31m\u200e\u200f\u061c\u007f é"#
    try study.run("record", input: Study.pushes(1, body: body))
    let result = try study.run("list")
    #expect(result.lines.count == 1)
    #expect(
      result.output.unicodeScalars.allSatisfy { $0 == "\n" || ($0.value >= 0x20 && !(0x7f..<0xa0).contains($0.value)) })
    for mark in ["\u{200e}", "\u{200f}", "\u{61c}"] { #expect(!result.output.contains(mark)) }
    #expect(result.output.contains(#"\u{1b}]0;owned\u{7}"#) && result.output.contains(#"\u{202e}gnp.exe"#))
    // As JSON it is the whole text, without a control character in its raw form.
    let json = try study.run("list", "--json").output
    #expect(
      json.unicodeScalars.allSatisfy { $0 == "\n" || ($0.value >= 0x20 && !(0x7f..<0xa0).contains($0.value)) })
    #expect((JSON.parse(json) as? [String: Any])?["body"] as? String == JSON.parse("\"\(body)\"") as? String)
    // The export holds the text as it is.
    #expect(try study.run("export").output.contains(#"\u001b]0;owned"#))
  }

  @Test func listTakesARange() throws {
    let study = Study()
    try study.run("record", input: Study.pushes(30))
    #expect(try study.run("list", "--limit", "3").lines.count == 3)
    #expect(try study.run("list", "--limit", "0").output.isEmpty)
    #expect(try study.run("list", "--after", "27").lines.count == 3)
    let json = try study.run("list", "--after", "28", "--limit", "1", "--json").lines
    #expect(json.count == 1 && (JSON.parse(json[0]) as? [String: Any])?["id"] as? Int == 29)
    #expect(try study.run("list", "--table", "ios_silent_push").output.isEmpty)
  }

  /// Programs that take the columns from the first lines, as DuckDB does, would not find `payload` otherwise.
  @Test func linesOfSeveralTablesHaveTheColumnsOfAll() throws {
    let study = Study()
    try study.run("record", input: Study.pushes(1) + "{\"payload\":{\"aps\":{\"content-available\":1},\"k\":1}}\n")
    try study.run("token", "abcd")
    for command in [["export"], ["list", "--json"]] {
      let rows = try study.run(command[0], with: Array(command.dropFirst())).lines.map {
        try #require(JSON.parse($0) as? [String: Any])
      }
      #expect(rows.count == 3 && Set(rows.map { Set($0.keys) }).count == 1)
      #expect(rows.map { $0["payload"] is String } == [false, false, true])
      #expect(rows.map { $0["title"] is String } == [true, false, false])
      #expect(rows.map { $0["token"] as? String } == [nil, "abcd", nil])
    }
    let alone = try study.run("export", "--table", "ios_silent_push").lines
    #expect(alone.count == 1 && !alone[0].contains("title"))
  }

  @Test func aNumberWithAFractionStaysOne() throws {
    let study = Study()
    try study.run("record", input: Study.pushes(3))
    let connection = try Connection.open(study.database, key: Keys.raw)
    for (id, value) in [(1, "1.5"), (2, "-1e300"), (3, "9e999")] {
      try connection.execute("UPDATE ios_notification SET badge = \(value) WHERE id = \(id)")
    }
    try connection.close()
    let rows = try study.run("export").lines.map { JSON.parse($0) as? [String: Any] }
    #expect(rows[0]?["badge"] as? Double == 1.5 && rows[1]?["badge"] as? Double == -1e300)
    #expect(rows[2]?["badge"] is NSNull, "JSON has no infinity")
  }

  @Test func csvIsReadBackByAnIndependentReader() throws {
    let study = Study()
    let body = #"comma, \"quote\", line\nbreak, 🥾\r, =1+1"#
    try study.run("record", input: Study.pushes(2, body: body))
    let file = study.folder.path("out.csv")
    #expect(try study.run("export", "--format", "csv", "--table", "ios_notification", "--output", file).status == 0)
    let script = "import csv, json, sys; print(json.dumps(list(csv.DictReader(open(sys.argv[1], newline='')))))"
    let read = try Program.run("/usr/bin/python3", ["-c", script, file]).output
    let rows = try #require(JSON.parse(read) as? [[String: Any]])
    #expect(
      rows.map { $0["body"] as? String } == Array(repeating: "comma, \"quote\", line\nbreak, 🥾\r, =1+1", count: 2))
    #expect(rows[1]["title"] as? String == "2" && rows[1]["id"] as? String == "2")
  }

  @Test func anExportIsForTheOwnerAndReplacesNothing() throws {
    let study = Study()
    try study.run("record", input: Study.pushes(2))
    let file = study.folder.path("out.jsonl")
    #expect(try study.run("export", "--output", file).output.isEmpty)
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? NSNumber
    #expect(mode?.intValue == 0o600)
    let before = study.folder.contents
    #expect(try study.run("export", "--output", file).status == 1)
    #expect(try study.run("export", "--output", study.folder.path("none/out")).status == 1)
    #expect(try study.run("export", "--output", "/dev/full").status == 1)
    #expect(study.folder.contents == before)
  }

  /// Stopped in the middle: nothing stands under the final name, and an interrupt takes away what there was.
  @Test(arguments: [SIGINT, SIGTERM, SIGKILL]) func anInterruptedExportLeavesNothingUnderItsName(signal: Int32) throws {
    let study = Study()
    try study.run("record", study.folder.write("pushes", Study.pushes(5000)))
    let before = study.folder.names
    var wasInTheMiddle = false
    for _ in 0..<20 where !wasInTheMiddle {
      let running = try study.start("export", "--output", study.folder.path("out"))
      while running.isRunning, !study.folder.names.contains(where: { $0.hasPrefix("out.new-") }) { usleep(200) }
      running.signal(SIGSTOP)
      let names = study.folder.names
      running.signal(signal)
      running.signal(SIGCONT)
      let status = running.finish().status
      wasInTheMiddle = status != 0
      guard wasInTheMiddle else {
        // It had finished first.
        try FileManager.default.removeItem(atPath: study.folder.path("out"))
        continue
      }
      #expect(!names.contains("out"))
      if signal == SIGKILL {
        #expect(try study.run("export", "--output", study.folder.path("out")).status == 0)
        #expect(study.folder.names.filter { $0.hasPrefix("out") } == ["out"], "the next takes its leavings away")
      } else {
        #expect(status == 128 + signal)
        #expect(study.folder.names == before)
      }
    }
    #expect(wasInTheMiddle, "no export was interrupted in time")
  }

  @Test func verifyNoticesAnIncompleteRecordOfTheSteps() throws {
    let study = Study()
    try study.run("init")
    let connection = try Connection.open(study.database, key: Keys.raw)
    try connection.execute("DELETE FROM schema_migration WHERE jsonVersion = 1")
    #expect(try study.run("verify").output.contains("migrations: FAULT: the step to jsonVersion 1 is not recorded"))
    try connection.execute("DROP TABLE schema_migration")
    let result = try study.run("verify")
    #expect(result.status == 1 && result.output.contains("schema_migration is missing"))
  }

  @Test func statusForProgramsHasItsKeys() throws {
    let study = Study()
    try study.run("record", input: Study.pushes(3))
    let status = try #require(JSON.parse(try study.run("status", "--json").output) as? [String: Any])
    #expect(status["jsonVersion"] as? Int == 2)
    #expect((status["cipherVersion"] as? String)?.isEmpty == false)
    let counts = ["ios_notification": 3, "ios_notification_token": 0, "ios_silent_push": 0]
    #expect(status["counts"] as? [String: Int] == counts)
    #expect(status["pending"] as? [String: Int] == counts)
  }

  @Test func verifyFindsAFlippedBitAndAChangedSchema() throws {
    let study = Study()
    try study.run("record", input: Study.pushes(300))
    #expect(try study.run("verify").status == 0)
    var bytes = try #require(FileManager.default.contents(atPath: study.database))
    bytes[bytes.count * 2 / 3] ^= 1
    try bytes.write(to: URL(fileURLWithPath: study.database))
    let damaged = try study.run("verify")
    #expect(damaged.status == 1 && damaged.output.contains("FAULT"))
    #expect(damaged.errors.contains("restore --salvage") && damaged.errors.split(separator: "\n").count == 1)
    for check in ["ledger", "records"] {
      #expect(damaged.output.contains("\n\(check): skipped: "))
      #expect(!damaged.output.contains("\(check): ok"))
    }
    let json = try #require(JSON.parse(try study.run("verify", "--json").output) as? [String: Any])
    #expect(json["sound"] as? Bool == false && (json["nextStep"] as? String)?.contains("--salvage") == true)
    let results = (json["checks"] as? [[String: Any]] ?? []).map { "\($0["name"] ?? "") \($0["result"] ?? "")" }
    #expect(results.contains("cipher ok") && results.contains("pages FAULT") && results.contains("records skipped"))

    let other = Study()
    try other.run("init")
    let connection = try Connection.open(other.database, key: Keys.raw)
    try connection.execute("DROP INDEX ios_notification_push; ALTER TABLE ios_silent_push ADD COLUMN extra TEXT")
    try connection.close()
    let changed = try other.run("verify")
    #expect(changed.status == 1)
    #expect(changed.output.contains("ios_notification_push is missing"))
    #expect(changed.output.contains("ios_silent_push is not as its migration made it"))
  }

  @Test func verifyChangesNothingNotEvenAfterAKill() throws {
    let study = Study()
    let running = try study.start("record")
    running.type(Study.pushes(3))
    #expect(running.waitForLine("committed 3"))
    running.kill()
    _ = running.finish()
    let before = try #require(study.folder.contents["study.db-wal"])
    #expect(before.count > 0)
    #expect(try study.run("verify").status == 0)
    #expect(try study.run("list").lines.count == 3)
    #expect(study.folder.contents["study.db-wal"] == before)
  }

  @Test func migrateTellsWhatItWouldDoAndDoesIt() throws {
    let study = Study(key: Fixture.goldenKey)
    let golden = TemporaryFolder()
    let source = try Fixture.golden(Fixture.readableGenerations[0], in: golden)
    try FileManager.default.copyItem(atPath: source, toPath: study.database)
    let before = study.folder.contents
    #expect(try study.run("migrate", "--dry-run").output.hasPrefix("would apply v2 "))
    #expect(try study.run("list").errors.contains("run migrate"))
    #expect(study.folder.contents == before)
    #expect(try study.run("migrate").output.hasPrefix("applied v2 "))
    let again = try #require(JSON.parse(try study.run("migrate", "--json").output) as? [String: Any])
    #expect(again["jsonVersion"] as? Int == 2 && (again["steps"] as? [Any])?.isEmpty == true)
    let tables = try NotificationStore.tables.map { try study.run("export", "--table", $0).output }
    #expect(try tables.joined() == Fixture.text("v2_expected.jsonl"))
  }

  @Test func wipeAsksForConsent() throws {
    let study = Study()
    try study.run("record", input: Study.pushes(3))
    #expect(try study.run("wipe").status == 2)
    #expect(try study.run("list").lines.count == 3)
    #expect(try study.run("wipe", "--yes").status == 0)
    #expect(try study.run("list").output.isEmpty)
    #expect(try study.run("verify").status == 0)
  }
}
