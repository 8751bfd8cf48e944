import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@Suite struct RotateKeyCommandTests {
  private let study = Study()
  private var new: String { study.folder.path("new.key") }

  init() throws {
    #expect(try study.run("record", input: Study.pushes(20)).status == 0)
  }

  private func count(_ keyFile: String) throws -> Int? {
    let result = try Program.run(
      Program.tool, ["list", "--db", study.database, "--key-file", keyFile, "--table", "ios_notification"])
    return result.status == 0 ? result.lines.count : nil
  }

  @Test(arguments: [[], ["--rewrite"]]) func aKeyIsMadeAndTheStoreIsUnderIt(_ options: [String]) throws {
    let result = try rotate(["--generate"] + options)
    #expect(result.status == 0)
    #expect(result.output.hasPrefix("rotated: "))
    #expect(result.errors == "")
    #expect(try count(new) == 20)
    #expect(try count(study.keyFile) == nil)
    #expect(study.folder.names == ["new.key", "study.db", "study.key"])
    let mode = try FileManager.default.attributesOfItem(atPath: new)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  private func rotate(_ options: [String]) throws -> Program.Result {
    try Program.run(
      Program.tool,
      ["rotate-key", "--db", study.database, "--key-file", study.keyFile, "--new-key-file", new] + options)
  }

  @Test(arguments: [[], ["--generate"], ["--rewrite"]]) func anotherRunSaysThatItIsDone(_ options: [String]) throws {
    #expect(try rotate(["--generate"]).status == 0)
    let before = study.folder.contents
    let result = try rotate(options)
    #expect(result.status == 0)
    #expect(result.output.hasPrefix("nothing to do: "))
    #expect(study.folder.contents == before)
  }

  @Test func theReportForPrograms() throws {
    let result = try rotate(["--generate", "--json"])
    let report = try #require(JSON.parse(result.output) as? [String: Any])
    #expect(report["method"] as? String == "inPlace")
    #expect(report["oldKey"] as? String == "raw key")
    #expect(report["newKey"] as? String == "raw key")
    #expect(report["wasDone"] as? Bool == false)
    #expect(report["logFoldedIn"] as? Bool == true)
    #expect((report["pages"] as? Int ?? 0) > 5)
  }

  @Test(arguments: [Keys.saltedText, "other words"]) func aGivenKey(_ text: String) throws {
    _ = study.folder.write("new.key", text + "\n")
    let result = try rotate([])
    #expect(result.status == 0)
    #expect(try count(new) == 20)
    #expect(result.output.contains(text == Keys.saltedText ? "by a compacted copy" : "in place"))
  }

  @Test func aStagedKeyOfAnEarlierRunIsUsedAndNamed() throws {
    // Killed before the store was changed.
    let staged = study.folder.write("new.key.staged", "x'" + String(repeating: "5", count: 64) + "'\n")
    #expect(try rotate(["--generate"]).status == 0)
    #expect(try count(new) == 20)
    #expect(!FileManager.default.fileExists(atPath: staged))
    // Killed after it was changed, and before the key got its name.
    try FileManager.default.moveItem(atPath: new, toPath: staged)
    let result = try rotate(["--generate"])
    #expect(result.status == 0 && result.output.hasPrefix("nothing to do"))
    #expect(study.folder.names == ["new.key", "study.db", "study.key"])
    #expect(try count(new) == 20)
  }

  /// The store may be under it.
  @Test func aStagedKeyOfAnEarlierRunIsNeverRemovedByAFailure() throws {
    let text = "x'" + String(repeating: "5", count: 64) + "'\n"
    let staged = study.folder.write("new.key.staged", text)
    let result = try Program.run(
      Program.tool,
      [
        "rotate-key", "--db", study.folder.path("typo.db"), "--key-file", study.keyFile, "--new-key-file", new,
        "--generate",
      ])
    #expect(result.status == 1)
    #expect(FileManager.default.contents(atPath: staged) == Data(text.utf8))
  }

  @Test func aFailureLeavesNoNewKeyAndTheOldOneInForce() throws {
    let wrong = study.folder.write("wrong.key", "wrong words\n")
    let result = try Program.run(
      Program.tool,
      ["rotate-key", "--db", study.database, "--key-file", wrong, "--new-key-file", new, "--generate"])
    #expect(result.status == 1)
    #expect(result.errors.contains("does not open with this key"))
    #expect(study.folder.names == ["study.db", "study.key", "wrong.key"])
    #expect(try count(study.keyFile) == 20)
  }

  @Test func anotherNewKeyIsNotOverwritten() throws {
    _ = study.folder.write("new.key", "somebody's\n")
    let result = try rotate(["--generate"])
    #expect(result.status == 1)
    #expect(result.errors.contains("exists and is not this store's key"))
    #expect(FileManager.default.contents(atPath: new) == Data("somebody's\n".utf8))
    #expect(try count(study.keyFile) == 20)
  }

  @Test func theSameKeyIsRefused() throws {
    _ = study.folder.write("new.key", Keys.rawText)
    let result = try rotate([])
    #expect(result.status == 1)
    #expect(result.errors.contains("the new key is the old one"))
    #expect(try count(study.keyFile) == 20)
  }

  @Test func aStoreInUseIsLeftAsItIs() throws {
    let holder = try Program.start(
      Program.helper, ["hold", study.database, study.keyFile, "DELETE FROM ios_silent_push"])
    #expect(holder.waitForLine("holding"))
    let result = try rotate(["--generate", "--wait", "1"])
    #expect(result.status == 1)
    #expect(result.errors.contains("is in use by another program"))
    holder.closeInput()
    #expect(holder.finish().status == 0)
    #expect(result.errors.contains("waits in \(new).staged"))
    #expect(try count(study.keyFile) == 20)
    #expect(study.folder.names == ["new.key.staged", "study.db", "study.key"])
    #expect(try rotate(["--generate"]).status == 0)
    #expect(study.folder.names == ["new.key", "study.db", "study.key"])
  }

  /// The second finds the first's staged key; whichever comes first, its key is not lost.
  @Test func severalRunsAtOnceEndWithTheKeyThatOpens() throws {
    for round in 0..<Campaign.count(4) {
      let old = round == 0 ? study.keyFile : study.folder.path("key\(round - 1)")
      let next = study.folder.path("key\(round)")
      let runs = try (0..<3).map { _ in
        try Program.start(
          Program.tool,
          ["rotate-key", "--db", study.database, "--key-file", old, "--new-key-file", next, "--generate"])
      }
      let results = runs.map { $0.finish() }
      #expect(results.contains { $0.status == 0 })
      #expect(try count(next) == 20, "\(results.map(\.errors))")
      #expect(!FileManager.default.fileExists(atPath: next + ".staged"))
    }
  }

  @Test func missingOptionsAreNamed() throws {
    let result = try study.run("rotate-key")
    #expect(result.status == 2 && result.errors.contains("--new-key-file is missing"))
    let absent = try rotate([])
    #expect(absent.status == 1 && absent.errors.contains("there is no key file at"))
  }

  @Test func anInterruptBeforeTheChangeLeavesTheOldKey() throws {
    #expect(try study.run("record", input: Study.pushes(20_000)).status == 0)
    let running = try study.start("rotate-key", "--new-key-file", new, "--generate", "--rewrite")
    while running.isRunning, !FileManager.default.fileExists(atPath: new + ".staged") { usleep(500) }
    running.signal(SIGINT)
    let result = running.finish()
    // Where the signal came too late, the rotation is done.
    #expect([0, 130].contains(result.status))
    #expect(try count(result.status == 0 ? new : study.keyFile) == 20_020 - 20)
    #expect(try count(result.status == 0 ? study.keyFile : new) == nil)
    #expect(study.folder.names == [result.status == 0 ? "new.key" : "new.key.staged", "study.db", "study.key"])
  }
}
