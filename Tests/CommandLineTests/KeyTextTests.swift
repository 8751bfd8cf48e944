import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// Keys that are almost raw keys, on the command line.
@Suite struct KeyTextTests {
  @Test("No command makes a store under one, or gives it to a store", arguments: Keys.nearRaw)
  func choosing(_ near: NamedText) throws {
    let study = Study()
    #expect(try study.run("record", input: Study.pushes(2)).status == 0)
    let file = study.folder.write("near.key", near.text + "\n")
    let new = study.folder.path("new.db")
    let plain = study.folder.path("plain.db")
    try PublicSensor.make(plain)
    let before = study.folder.contents
    for (command, database) in [("init", new), ("record", new), ("encrypt", plain)] {
      let result = try Program.run(
        Program.tool, [command, "--db", database, "--key-file", file], input: Study.pushes(1))
      expectRefused(result)
    }
    expectRefused(try study.run("rotate-key", "--new-key-file", file))
    expectRefused(try study.run("backup", "--output", new, "--backup-key-file", file))
    expectRefused(try Program.run(Program.tool, ["status", "--db", study.database, "--key-file", file]))
    #expect(study.folder.contents == before)
  }

  private func expectRefused(_ result: Program.Result) {
    #expect(result.status == 1 && result.output.isEmpty)
    #expect(result.errors.contains("resembles a raw key") && result.errors.contains("--passphrase"))
    #expect(!result.errors.contains("0123"), "the key is not repeated")
  }

  @Test("A store that is under one opens, and status says so; --passphrase is the way around")
  func existing() throws {
    let study = Study(key: Keys.nearRaw[0].text)
    #expect(try study.run("init", "--passphrase").status == 0)
    #expect(try study.run("record", input: Study.pushes(2)).status == 0)
    #expect(try study.run("list").lines.count == 2)
    #expect(try study.run("status").output.contains("\nkey: passphrase (resembles a raw key)\n"))
    let json = JSON.parse(try study.run("status", "--json").output) as? [String: Any]
    #expect(json?["keyKind"] as? String == "passphrase (resembles a raw key)")
    #expect(try study.run("status", "--passphrase").output.contains("\nkey: passphrase\n"))
    #expect(try study.run("rotate-key", "--new-key-file", study.folder.write("raw.key", Keys.rawText)).status == 0)
    let rotated = try study.run("status")
    #expect(rotated.status == 1 && rotated.errors.contains("does not open with it as a passphrase either"))
  }

  @Test("status tells each kind of key", arguments: [Keys.rawText: "raw key", Keys.saltedText: "raw key with salt"])
  func kinds(_ key: String, _ kind: String) throws {
    let study = Study(key: key)
    #expect(try study.run("init", "--passphrase").status == 0, "a raw key stays one")
    #expect(try study.run("status").output.contains("\nkey: \(kind)\n"))
  }

  @Test("Words that the literal's quotes stand around are refused without a word of Swift, and taken as a passphrase")
  func malformed() throws {
    let study = Study(key: "x'correct horse'")
    let refused = try study.run("init")
    #expect(refused.status == 1 && refused.errors.contains("--passphrase"))
    #expect(!refused.errors.contains("(_:)") && !refused.errors.contains("horse"))
    #expect(try study.run("init", "--passphrase").status == 0)
    #expect(try study.run("list", "--passphrase").status == 0)
  }

  @Test("Who gives the words after --passphrase is told so, and they are not repeated", arguments: ["record", "list"])
  func words(_ command: String) throws {
    let study = Study()
    for option in [["--passphrase", "SECRET"], ["--passphrase=SECRET"]] {
      let result = try study.run(command, with: option)
      #expect(result.status == 2 && !result.errors.contains("SECRET"))
    }
    #expect(study.folder.names == ["study.key"])
  }
}
