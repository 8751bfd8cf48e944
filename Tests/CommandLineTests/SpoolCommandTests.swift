import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// What the commands say of the spool, and do to it.
@Suite struct SpoolCommandTests {
  private let study = Study()
  private var spool: NotificationSpool { NotificationSpool(besideStore: study.database) }
  private let old = EncryptionKey.random()
  private var oldKeyFile: String {
    study.folder.write("old.key", old.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
  }

  /// A store, and next to it: a push under its key, one under an older key, and a file that is not the spool's.
  init() throws {
    #expect(try study.run("record", input: Study.pushes(2)).status == 0)
    for (number, key) in [(7, try KeyFile.read(study.keyFile)), (8, old)] {
      var data = NotificationData(timestamp: 5)
      data.notificationId = "spooled-\(number)"
      #expect(try spool.append([[.notification(data)]], key: key) == 1)
    }
    try Data([1]).write(to: URL(fileURLWithPath: spool.path + "/junk"))
  }

  private func identifiers() throws -> [String] {
    let lines = try study.run("list", "--json", "--table", "ios_notification").lines
    return try lines.map { line in
      let record = try #require(JSON.parse(line) as? [String: Any])
      return try #require(record["notificationId"] as? String)
    }
  }

  @Test func readingCommandsCountItAndChangeNothing() throws {
    let before = try FileManager.default.subpathsOfDirectory(atPath: spool.path).sorted()
    let status = try study.run("status")
    #expect(status.output.contains("spool: 2 pushes wait"))
    #expect(status.output.contains("1 file of the spool \(spool.path) is encrypted under another key"))
    #expect(status.output.contains("1 file of the spool \(spool.path) is altered"))
    let json = try #require(JSON.parse(study.run("status", "--json").output) as? [String: Any])
    #expect(json["spooled"] as? Int == 2 && json["spoolDamaged"] as? Int == 1)
    #expect((json["spoolFaults"] as? [String])?.count == 2)
    let known = try #require(
      JSON.parse(study.run("status", "--json", "--previous-key-file", oldKeyFile).output) as? [String: Any])
    #expect(known["spooled"] as? Int == 2 && (known["spoolFaults"] as? [String])?.count == 1)
    let verify = try study.run("verify")
    #expect(verify.status == 1)
    let line = try #require(verify.lines.first { $0.hasPrefix("spool: ") })
    #expect(line.hasPrefix("spool: FAULT: 1 file") && line.contains("altered"))
    unlink(spool.path + "/junk")
    #expect(try study.run("verify").status == 0)
    #expect(try study.run("verify", "--previous-key-file", oldKeyFile).output.contains("spool: ok: 2 pushes wait\n"))
    #expect(try FileManager.default.subpathsOfDirectory(atPath: spool.path).sorted() == before.filter { $0 != "junk" })
  }

  @Test(arguments: ["record", "token", "requeue"]) func writingCommandsImportItAndReportTheRest(_ command: String)
    throws
  {
    func run(_ options: String...) throws -> Program.Result {
      try Program.run(
        Program.tool, [command, "--db", study.database, "--key-file", study.keyFile] + options,
        input: command == "record" ? "" : "00ff\n")
    }
    let first = try run()
    #expect(first.status == 0)
    let reports = first.errors.split(separator: "\n")
    #expect(reports.count == 2, "once each: \(first.errors)")
    #expect(first.errors.contains("--previous") == false && first.errors.contains("previous one"))
    #expect(try identifiers().filter { $0.hasPrefix("spooled") } == ["spooled-7"])
    let second = try run("--previous-key-file", oldKeyFile)
    // What is damaged is reported at each opening.
    #expect(second.status == 0 && second.errors.split(separator: "\n").count == 1)
    #expect(try identifiers().filter { $0.hasPrefix("spooled") } == ["spooled-7", "spooled-8"])
    #expect(spool.count() == 0)
    let missing = try run("--previous-key-file", "absent")
    #expect(missing.status == 1 && missing.errors.contains("--previous-key-file") && !missing.errors.contains("absent"))
  }

  @Test func aRotationImportsItAndReportsTheRest() throws {
    let new = study.folder.path("new.key")
    let rotated = try study.run("rotate-key", "--new-key-file", new, "--generate")
    #expect(rotated.status == 0 && rotated.errors.split(separator: "\n").count == 2)
    #expect(spool.count() == 1)
    let arguments = ["rotate-key", "--db", study.database, "--key-file", new, "--new-key-file", study.keyFile]
    let back = try Program.run(Program.tool, arguments + ["--previous-key-file", oldKeyFile])
    #expect(back.status == 0 && spool.count() == 0)
    #expect(try identifiers().filter { $0.hasPrefix("spooled") } == ["spooled-7", "spooled-8"])
  }

  @Test func aBackupSaysWhatItLacks() throws {
    let result = try study.run("backup", "--output", study.folder.path("copy.db"))
    #expect(result.status == 0 && result.errors.contains("2 pushes wait in the spool and are not in the backup"))
    #expect(spool.count() == 3)
  }

  @Test func aWipeRemovesIt() throws {
    #expect(try study.run("wipe", "--yes").status == 0)
    #expect(study.folder.names == ["study.db", "study.key"])
  }
}
