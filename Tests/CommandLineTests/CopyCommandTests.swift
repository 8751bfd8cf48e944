import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// backup, restore, and migrate --cipher.
@Suite struct CopyCommandTests {
  private let study = Study()
  private var copy: String { study.folder.path("copy.db") }

  private func list(_ database: String, _ keyFile: String? = nil) throws -> [String]? {
    let result = try Program.run(
      Program.tool, ["export", "--db", database, "--key-file", keyFile ?? study.keyFile])
    return result.status == 0 ? result.lines : nil
  }

  @Test func aBackupIsRestored() throws {
    #expect(try study.run("record", input: Study.pushes(50)).status == 0)
    let before = try list(study.database)
    let backup = try study.run("backup", "--output", copy, "--verify")
    #expect(backup.status == 0 && backup.output.contains("ios_notification: 50 records"))
    #expect(try study.run("wipe", "--yes").status == 0)
    let restored = try study.run("restore", "--from", copy, "--json")
    #expect(restored.status == 0)
    let report = try #require(JSON.parse(restored.output) as? [String: Any])
    #expect((report["counts"] as? [String: Int])?["ios_notification"] == 50)
    #expect(try list(study.database) == before)
    #expect(try study.run("verify").status == 0)
    #expect(study.folder.names == ["copy.db", "study.db", "study.key"])
  }

  @Test func aBackupUnderAnotherKey() throws {
    #expect(try study.run("record", input: Study.pushes(5)).status == 0)
    let keyFile = study.folder.write("backup.key", "backup words\n")
    #expect(try study.run("backup", "--output", copy, "--backup-key-file", keyFile).status == 0)
    #expect(try list(copy) == nil)
    #expect(try list(copy, keyFile)?.count == 5)
    let wrong = try study.run("restore", "--from", copy)
    #expect(wrong.status == 1 && wrong.errors.contains("does not open with this key"))
    #expect(try study.run("restore", "--from", copy, "--backup-key-file", keyFile).status == 0)
    #expect(try list(study.database)?.count == 5)
  }

  @Test func anExistingFileIsNotOverwritten() throws {
    #expect(try study.run("init").status == 0)
    _ = study.folder.write("copy.db", "somebody's")
    let result = try study.run("backup", "--output", copy)
    #expect(result.status == 1 && result.errors.contains("it exists already"))
    #expect(FileManager.default.contents(atPath: copy) == Data("somebody's".utf8))
  }

  @Test func whatIsNoStoreIsNotRestored() throws {
    #expect(try study.run("init").status == 0)
    try SmallStore.make(copy, Keys.raw)
    let before = study.folder.contents
    let result = try study.run("restore", "--from", copy)
    #expect(result.status == 1 && result.errors.contains("holds none of a store's tables"))
    #expect(study.folder.contents == before)
  }

  @Test(arguments: ["backup", "restore"]) func missingOptionsAreNamed(_ command: String) throws {
    let result = try study.run(command)
    #expect(
      result.status == 2 && result.errors.contains(command == "backup" ? "--output is missing" : "--from is missing"))
  }

  @Test func optionsOfAnUpgradeGoWithIt() throws {
    #expect(try study.run("init").status == 0)
    #expect(try study.run("migrate", "--page-size", "4096").status == 2)
    #expect(try study.run("migrate", "--cipher", "--dry-run").status == 2)
    #expect(try study.run("migrate", "--cipher").output == "nothing to do: jsonVersion 2 is current\n")
    let odd = try study.run("migrate", "--cipher", "--page-size", "1000")
    #expect(odd.status == 2 && odd.errors.contains("power of two") && odd.errors.contains("--page-size"))
  }

  @Test(
    .enabled(if: Fixture.readableGenerations.count > 1, "only a newer library upgrades"),
    arguments: Fixture.readableGenerations.filter { $0 < 4 })
  func anOlderFileIsUpgradedAndMigrated(_ generation: Int) throws {
    let golden = try Fixture.golden(generation, in: study.folder)
    let keyFile = study.folder.write("golden.key", Fixture.goldenKey)
    let result = try Program.run(Program.tool, ["migrate", "--db", golden, "--key-file", keyFile, "--cipher"])
    #expect(result.status == 0)
    #expect(result.lines.first?.hasSuffix("became 4") == true)
    #expect(result.lines.contains { $0.hasPrefix("applied v2") })
    #expect(try Program.run(Program.tool, ["verify", "--db", golden, "--key-file", keyFile]).status == 0)
    let status = try Program.run(Program.tool, ["status", "--db", golden, "--key-file", keyFile, "--json"])
    #expect((JSON.parse(status.output) as? [String: Any])?["fileFormat"] as? Int == 4)
  }

  // MARK: Killed

  /// Whatever the moment: never neither file, and nothing left over after another run.
  @Test(arguments: ["backup", "restore", "restore anew"]) func killedAtAnyMoment(_ command: String) throws {
    #expect(try study.run("record", input: Study.pushes(1000)).status == 0)
    let source = study.folder.path("source.db")
    #expect(try study.run("backup", "--output", source).status == 0)
    #expect(try study.run("record", input: Study.pushes(1)).status == 0)
    let full = try #require(try list(source))
    var generator = SeededGenerator(seed: UInt64(command.utf8.count))
    for _ in 0..<Campaign.count(3) {
      let isBackup = command == "backup"
      let target = isBackup ? copy : command == "restore" ? study.database : study.folder.path("new.db")
      let arguments =
        isBackup
        ? ["backup", "--db", source, "--output", target] : ["restore", "--db", target, "--from", source]
      let running = try Program.start(Program.tool, arguments + ["--key-file", study.keyFile])
      usleep(UInt32.random(in: 0..<40_000, using: &generator))
      running.kill()
      _ = running.finish()
      #expect(try list(source) == full)
      // Killed while it left WAL mode, it leaves a journal, which no reader rolls back.
      if FileManager.default.fileExists(atPath: target + "-journal"), try list(target) == nil {
        #expect(try Program.run(Program.tool, ["migrate", "--db", target, "--key-file", study.keyFile]).status == 0)
      }
      if command == "restore" { #expect([1000, 1001].contains(try list(target)?.count)) }
      if FileManager.default.fileExists(atPath: target) {
        #expect(try (list(target)?.count ?? 0) >= 1000)
        if command != "restore" { try FileManager.default.removeItem(atPath: target) }
      }
      #expect(try Program.run(Program.tool, arguments + ["--key-file", study.keyFile]).status == 0)
      #expect(try list(target) == full)
      if command != "restore" { try FileManager.default.removeItem(atPath: target) }
      #expect(study.folder.names == ["source.db", "study.db", "study.key"])
    }
  }
}
