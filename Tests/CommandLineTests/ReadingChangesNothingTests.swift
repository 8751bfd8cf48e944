import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// Commands that read, on stores in whatever state: file, WAL and journal stay as they are, and each run says the same.
@Suite struct ReadingChangesNothingTests {
  private let study = Study()

  private static let commands = [
    ["status"], ["verify"], ["list"], ["export"], ["backup", "--output", "copy.db"], ["migrate", "--dry-run"],
  ]

  /// Makes the store one whose WAL holds commits, as a kill leaves it.
  private func leaveWAL() throws {
    #expect(try study.run("record", input: Study.pushes(20)).status == 0)
    let writer = try Program.start(Program.helper, ["pairs", study.database, study.keyFile])
    #expect(writer.waitForLine("3"))
    writer.kill()
    _ = writer.finish()
    try #require(FileSystem.size(study.database + "-wal") > 0)
  }

  /// Runs each command twice; returns what each printed.
  @discardableResult
  private func expectNoChange(_ location: SourceLocation = #_sourceLocation) throws -> [[Program.Result]] {
    let before = study.folder.fingerprints
    return try Self.commands.map { command in
      try (0..<2).map { run in
        let result = try study.run(command[0], with: Array(command.dropFirst()))
        unlink(study.folder.path("copy.db"))
        #expect(study.folder.fingerprints == before, "\(command) \(run)", sourceLocation: location)
        return result
      }
    }
  }

  private func expectSame(_ results: [[Program.Result]], _ location: SourceLocation = #_sourceLocation) {
    for runs in results {
      #expect(runs[0].status == runs[1].status, sourceLocation: location)
      #expect(runs[0].output == runs[1].output, sourceLocation: location)
      #expect(runs[0].errors == runs[1].errors, sourceLocation: location)
    }
  }

  @Test func aStoreAtRest() throws {
    #expect(try study.run("record", input: Study.pushes(20)).status == 0)
    let results = try expectNoChange()
    expectSame(results)
    #expect(results.allSatisfy { $0[0].status == 0 })
    #expect(study.folder.names == ["study.db", "study.key"])
  }

  @Test func aWALThatHoldsCommits() throws {
    try leaveWAL()
    let results = try expectNoChange()
    expectSame(results)
    #expect(results.allSatisfy { $0[0].status == 0 })
    #expect(try study.run("export").lines.count >= 26)
  }

  /// SQLite takes no frame of such a WAL; what was committed in it is lost, and says so each time.
  @Test(arguments: [8, 40]) func aWALThatIsDamaged(at offset: Int) throws {
    try leaveWAL()
    try Damage.flipBit(study.database + "-wal", at: offset)
    let results = try expectNoChange()
    expectSame(results)
    for run in results[1] {
      #expect(run.status == 1 && run.output.contains("the write-ahead log is damaged"), "\(run.output)")
    }
    // Recovery reads the same, and says what was lost.
    let saved = study.folder.path("saved.db")
    let recovery = try Program.run(
      Program.tool, ["restore", "--salvage", "--from", study.database, "--db", saved, "--key-file", study.keyFile])
    #expect((recovery.output + recovery.errors).contains("log"), "\(recovery.output) \(recovery.errors)")
  }

  @Test func aJournalThatHasToBeRolledBack() throws {
    #expect(try study.run("record", input: Study.pushes(400)).status == 0)
    let rows = try study.run("export").output
    let raw = RawSQLite(study.database, key: try Keys.raw)
    #expect(raw.execute("PRAGMA journal_mode = DELETE") == 0)
    raw.close()
    // A small cache makes SQLite write pages, and the journal before them, in the middle of the transaction.
    let writer = try Program.start(
      Program.helper,
      [
        "hold", study.database, study.keyFile,
        "PRAGMA cache_size = 1; UPDATE ios_notification SET title = hex(randomblob(500))",
      ])
    #expect(writer.waitForLine("holding"))
    writer.kill()
    _ = writer.finish()
    try #require(FileSystem.size(study.database + "-journal") > 0)
    let results = try expectNoChange()
    expectSame(results)
    for run in results.flatMap({ $0 }) {
      #expect(run.status == 1 && run.errors.contains("run a command that writes, such as migrate"), "\(run.errors)")
    }
    #expect(try study.run("migrate").status == 0)
    #expect(try study.run("export").output == rows)
    #expect(study.folder.names == ["study.db", "study.key"])
  }

  /// Also a writer, and also under a key that does not open the file: nothing is checkpointed for it.
  @Test(arguments: ["status", "record", "sync", "wipe"]) func aWrongKey(_ command: String) throws {
    try leaveWAL()
    let before = study.folder.fingerprints
    let wrong = study.folder.write("wrong.key", "x'" + String(repeating: "7", count: 64) + "'")
    let more = ["sync": ["--host", "localhost:1"], "wipe": ["--yes"]][command] ?? []
    let result = try Program.run(Program.tool, [command, "--db", study.database, "--key-file", wrong] + more)
    #expect(result.status != 0)
    unlink(wrong)
    #expect(study.folder.fingerprints == before, "\(result.errors)")
  }
}
