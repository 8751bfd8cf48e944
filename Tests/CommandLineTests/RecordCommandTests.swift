import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@Suite struct RecordCommandTests {
  @Test func aBadLineIsReportedWithItsNumberAndTheRestGoesOn() throws {
    let study = Study()
    let input = [
      #"{"aps":{"alert":"bare payload"}}"#, "not JSON SENTINEL", "[1]", #"{"payload":{"aps":{}},"recievedAt":1}"#,
      #"{"payload":{"aps":{}},"receivedAt":"yesterday"}"#, #"{"payload":{"aps":{}},"receivedAt":1.5}"#,
      #"{"payload":{"aps":{}},"id":7}"#, "", "   ", #"{"no":"aps"}"#, "true", "null", "{", #"{"payload":"text"}"#,
      #"{"payload":null,"id":"a"}"#,
      #"{"aps":{"alert":"last, without a line break"}}"#,
    ].joined(separator: "\n")
    let result = try study.run("record", input: input)
    #expect(result.status == 1)
    #expect(result.output == "committed 16\n")
    let numbers = result.errors.split(separator: "\n").map { $0.split(separator: ":")[2] }
    #expect(numbers == ["2", "3", "4", "5", "6", "7", "11", "12", "13", "14", "15"])
    #expect(!result.errors.contains("SENTINEL"))
    let listed = try study.run("list").lines
    #expect(listed.count == 3 && listed[2].hasSuffix(#"{"no":"aps"}"#))
  }

  @Test func aWrongFileIsToldOfInTwentyLinesAndASum() throws {
    let study = Study()
    let input = study.folder.write("table.csv", String(repeating: "a,b,c\n", count: 1234) + Study.pushes(1))
    let result = try study.run("record", input)
    #expect(result.status == 1 && result.output.hasSuffix("committed 1235\n"))
    let messages = result.errors.split(separator: "\n")
    #expect(messages.count == 21 && messages[19].contains("table.csv:20: "))
    #expect(messages[20].contains("1234 of 1235 lines were left out"))
    #expect(try study.run("list").lines.count == 1, "the rest goes on")
    let twenty = try study.run("record", input: String(repeating: "a,b,c\n", count: 20))
    #expect(twenty.errors.split(separator: "\n").count == 20)
  }

  @Test func hugeNumbersDoNoHarm() throws {
    let study = Study()
    let input = [
      #"{"payload":{},"receivedAt":9223372036854775807}"#, #"{"payload":{},"receivedAt":1e300}"#,
      #"{"payload":{},"receivedAt":123456789012345678901234567890}"#, #"{"payload":{},"receivedAt":-1}"#,
      #"{"aps":{"badge":1e300}}"#, #"{"aps":{"badge":99999999999999999999,"content-available":1e300}}"#,
    ].joined(separator: "\n")
    let result = try study.run("record", input: input)
    #expect(result.status == 1 && result.errors.split(separator: "\n").count == 4)
    #expect(try study.run("list").lines.count == 2)
  }

  @Test func byteOrderMarkCarriageReturnsAndEnvelopesAreTaken() throws {
    let study = Study()
    let input =
      "\u{feff}" + #"{"id":"a","receivedAt":1000,"bundle":"b","payload":{"aps":{"alert":"x"}}}"# + "\r\n"
      + #"{"aps":{"alert":"y"},"payload":{"k":1}}"# + "\r\n"
    #expect(try study.run("record", "--bundle", "fallback", "--label", "pilot", input: input).status == 0)
    let rows = try study.run("export").lines.map { JSON.parse($0) as! [String: Any] }
    #expect(rows[0]["bundleIdentifier"] as? String == "b" && rows[1]["bundleIdentifier"] as? String == "fallback")
    #expect(rows[0]["timestamp"] as? Int == 1000 && rows[0]["notificationId"] as? String == "a")
    #expect(rows.allSatisfy { $0["label"] as? String == "pilot" })
  }

  /// Byte for byte, without the blanks around it; columns hold what can be a text.
  @Test func payloadsAreKeptAsTheyAreWritten() throws {
    let study = Study()
    let payloads = [
      #"{"b" : 1.0, "a":1e400,"aps":{"content-available":1,"alert":"\u0041\ud83e"}, "z":"\ud800" , "z":"\/"}"#,
      "{\"\u{feff}a\":\"\u{feff}\",\"a\":\"\\ufeff\",\"\u{e9}\":1,\"e\u{301}\":2}",
    ]
    let input =
      " \t\(payloads[0]) \r\n" + #" { "payload" :  {"first":1}, "id":"a\udfff","payload": "# + payloads[1] + "\t}\n"
    let result = try study.run("record", input: input)
    #expect(result.status == 0, "\(result.errors)")
    let store = try NotificationStore(.init(path: study.database, key: try Keys.raw, access: .readOnly))
    let stored = try store.silentPushes.page(limit: 9)
    #expect(stored.map { Array($0.payload.utf8) } == payloads.map { Array($0.utf8) })
    #expect(stored.map(\.pushId) == ["", "a\u{fffd}"])
    #expect(try store.notifications.page(limit: 9).map(\.body) == ["A\u{fffd}"])
    try store.close()
  }

  @Test func anEndlessLineIsPassedOverInFlatMemory() throws {
    let study = Study()
    let long = #"{"aps":{"alert":""# + String(repeating: "x", count: 8 << 20) + "\"}}\n"
    let input = study.folder.write("long", Study.pushes(1) + long + Study.pushes(1))
    let result = try study.run("record", input)
    #expect(result.status == 1 && result.output == "committed 3\n")
    #expect(result.errors.contains("long:2: this line is longer than"))
    #expect(try study.run("list").lines.count == 1)
  }

  @Test func aLineMayBeAMebibyteLong() throws {
    let study = Study()
    let (head, tail) = (#"{"aps":{"alert":""#, "\"}}")
    let longest = head + String(repeating: "x", count: (1 << 20) - head.utf8.count - tail.utf8.count) + tail
    let input = study.folder.write("long", longest + "\n" + longest + " \n" + longest + "\n " + longest)
    let result = try study.run("record", input)
    #expect(result.errors.split(separator: "\n").map { $0.split(separator: ":")[2] } == ["2", "4"])
    #expect(try study.run("list").lines.count == 2)
  }

  @Test func aCommitHasFourMebibytesOfLinesAtMost() throws {
    let study = Study()
    let line = #"{"aps":{"alert":""# + String(repeating: "x", count: 1_000_000) + "\"}}\n"
    let input = study.folder.write("long", String(repeating: line, count: 10))
    #expect(try study.run("record", input).output == "committed 4\ncommitted 8\ncommitted 10\n")
  }

  @Test func theSameLinesTwiceAddNothing() throws {
    let study = Study()
    let input = ["alerts", "silent"].map { Program.root + "/Examples/payloads/\($0).jsonl" }
    for path in input + input { #expect(try study.run("record", path).status == 0) }
    let rows = try study.run("export").lines.map { JSON.parse($0) as! [String: Any] }
    #expect(rows.count == 24)
    let silent = rows.filter { $0["table"] as? String == "ios_silent_push" }
    #expect(silent.first?["pushId"] as? String == "00000000-0000-4000-8000-000000000009")
    #expect(silent.allSatisfy { !($0["pushId"] as? String ?? "").isEmpty })
  }

  /// Runs `record` in a process that gets the signal of a file's size limit as a program started by a shell does.
  @Test func aLimitOfAFilesSizeEndsWithAMessage() throws {
    let study = Study()
    try study.run("init")
    let script = """
      import os, resource, signal, sys
      signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
      resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
      os.execv(sys.argv[1], sys.argv[1:])
      """
    let input = study.folder.write("pushes", Study.pushes(3000))
    let command = [Program.tool, "record", "--db", study.database, "--key-file", study.keyFile, input]
    let result = try Program.run("/usr/bin/python3", ["-c", script] + command)
    #expect(result.status == 1)
    #expect(result.errors.contains("wait in the spool") && result.errors.contains("ulimit -f"), "\(result.errors)")
    #expect(result.lines.last == "committed 3000")
    // Each is durable, and imported by the next command that writes.
    #expect(try study.run("record", "/dev/null").status == 0)
    #expect(try study.run("export").lines.count == 3000)
    #expect(try study.run("verify").status == 0)
  }

  @Test(arguments: 4...8) func tooFewDescriptorsEndWithAMessage(limit: Int) throws {
    let study = Study()
    try study.run("init")
    let line = "ulimit -n \(limit) && exec \"$0\" record --db \"$1\" --key-file \"$2\""
    let command = ["-c", line, Program.tool, study.database, study.keyFile]
    let result = try Program.run("/bin/sh", command, input: Study.pushes(3))
    #expect(result.status == 1 && result.output.isEmpty)
    #expect(result.errors.contains("ulimit -n"), "\(result.errors)")
  }

  @Test func linesAreCommittedAsSoonAsNoMoreAreWaiting() throws {
    let study = Study()
    let running = try study.start("record")
    running.type(Study.pushes(3))
    #expect(running.waitForLine("committed 3"))
    running.type(Study.pushes(2))
    #expect(running.waitForLine("committed 5"))
    running.closeInput()
    #expect(running.finish().status == 0)
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func anInterruptCommitsWhatWasReadAndClosesCleanly(signal: Int32) throws {
    let study = Study()
    let running = try study.start("record")
    running.type(Study.pushes(3))
    #expect(running.waitForLine("committed 3"))
    running.signal(signal)
    #expect(running.finish().status == 128 + signal)
    #expect(study.folder.names == ["study.db", "study.key"])
    #expect(try study.run("verify").status == 0)
  }

  /// Killed at points spread over the run: what was reported as committed is there, and the store is sound.
  @Test func everyCommittedLineSurvivesAKill() throws {
    let key = try Keys.raw
    var generator = SeededGenerator(seed: 5)
    var killed = 0
    let pushes = Study.pushes(5000)
    for _ in 0..<Campaign.count(3) {
      let study = Study()
      let running = try study.start("record", study.folder.write("pushes", pushes))
      usleep(UInt32.random(in: 0..<700_000, using: &generator))
      running.kill()
      let output = running.finish().lines
      killed += output.last == "committed 5000" ? 0 : 1
      let committed = output.last.flatMap { Int($0.dropFirst("committed ".count)) } ?? 0
      guard FileManager.default.fileExists(atPath: study.database) else {
        #expect(committed == 0)
        continue
      }
      let store = try NotificationStore(.init(path: study.database, key: key))
      let rows = try store.notifications.page(limit: 10_000).map(\.notificationId)
      #expect(rows.count >= committed && rows == (1...max(1, rows.count)).prefix(rows.count).map(String.init))
      try store.close()
      #expect(try study.run("verify").status == 0)
      // Going on from the last committed line gives the rest, and no row twice.
      #expect(try study.run("record", study.folder.path("pushes")).output.hasSuffix("committed 5000\n"))
      #expect(try study.run("list", "--json").lines.count == 5000)
    }
    #expect(killed > 0, "no run was killed before its end: the test proved nothing")
  }

  /// With a closed descriptor for the key, the input would get its number.
  @Test func theKeyIsReadBeforeTheInputIsOpened() throws {
    let study = Study()
    let input = study.folder.write("words", "words in the input\n")
    let line = "exec \"$0\" record --db \"$1\" --key-fd 3 \"$2\" 3<&-"
    let result = try Program.run("/bin/sh", ["-c", line, Program.tool, study.database, input])
    #expect(result.status == 1 && result.errors.contains("file descriptor 3"))
    #expect(study.folder.names == ["study.key", "words"])
  }

  @Test func aStoreThatIsBusyStopsTheRunAndNamesTheLastCommittedLine() throws {
    let study = Study()
    try study.run("init")
    let holder = try Program.start(
      Program.helper, ["hold", study.database, study.keyFile, "DELETE FROM ios_silent_push"])
    #expect(holder.waitForLine("holding"))
    let result = try study.run("record", "--wait", "0", input: Study.pushes(3))
    #expect(result.status == 1 && result.output.isEmpty)
    #expect(result.errors.contains("in use by another connection"))
    holder.closeInput()
    #expect(holder.finish().status == 0)
    #expect(try study.run("record", input: Study.pushes(3)).status == 0)
  }
}
