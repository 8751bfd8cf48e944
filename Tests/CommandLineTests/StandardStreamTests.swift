import Foundation
import TestSupport
import Testing

/// `-` where a file is taken.
@Suite struct StandardStreamTests {
  private let study = Study()

  private func run(_ arguments: [String], input: String = "") throws -> Program.Result {
    try Program.run(Program.tool, arguments, input: input, folder: study.folder.path)
  }

  @Test func aKeyComesFromStandardInput() throws {
    #expect(try run(["init", "--db", "study.db", "--key-file", "-"], input: Keys.rawText + "\n").status == 0)
    #expect(try study.run("status").status == 0)
    let rotated = try study.run("rotate-key", "--new-key-file", "-", input: Keys.saltedText)
    #expect(rotated.status == 0)
    #expect(study.folder.names == ["study.db", "study.key"])
    let listed = try run(["status", "--db", "study.db", "--key-file", "-"], input: Keys.saltedText)
    #expect(listed.output.contains("key: raw key with salt"))
    let backup = ["backup", "--db", "study.db", "--key-fd", "3", "--output", "copy", "--backup-key-file", "-"]
    let line = "exec 3<<'END'\n\(Keys.saltedText)\nEND\nexec \"$0\" \(backup.joined(separator: " "))"
    let made = try Program.run("/bin/sh", ["-c", line, Program.tool], input: Keys.rawText, folder: study.folder.path)
    #expect(made.status == 0)
    #expect(try run(["verify", "--db", "copy", "--key-file", "study.key"]).status == 0)
  }

  @Test func anExportAndAKeyGoToStandardOutput() throws {
    try study.run("record", input: Study.pushes(3))
    #expect(try study.run("export", "--output", "-").output == study.run("export").output)
    #expect(try study.run("export", "--output", "-").lines.count == 3)
    for (options, length) in [([], 67), (["--with-salt"], 99), (["--signing"], 64)] {
      let made = try run(["keygen", "--key-file", "-"] + options)
      #expect(made.status == 0 && made.output.count == length + 1 && made.output.hasSuffix("\n"))
    }
    #expect(study.folder.names == ["study.db", "study.key"])
  }

  @Test func aSigningKeyComesFromStandardInput() throws {
    let short = try study.run("sync", "--host", "localhost", "--signing-key-file", "-", input: "short")
    #expect(short.status == 2 && short.errors.contains("--signing-key-file: the signing key has 5 bytes"))
    let sound = try study.run("init")
    #expect(sound.status == 0)
    let key = String(repeating: "k", count: 32) + "\n"
    let dry = try study.run("sync", "--host", "localhost", "--dry-run", "--signing-key-file", "-", input: key)
    #expect(dry.status == 0)
  }

  @Test(
    "One input at most is standard input",
    arguments: [
      ["record", "--key-file", "-"], ["record", "--key-file", "-", "-"], ["record", "--key-fd", "0"],
      ["token", "--key-file", "-"], ["record", "--key-fd", "00", "-"],
      ["rotate-key", "--key-file", "-", "--new-key-file", "-"],
      ["backup", "--key-file", "-", "--output", "o", "--backup-key-file", "-"],
      ["sync", "--host", "h", "--key-file", "-", "--study-key-file", "-"],
    ])
  func one(_ arguments: [String]) throws {
    let result = try run(arguments + ["--db", "study.db"], input: Keys.rawText)
    #expect(result.status == 2 && result.errors.contains("cannot both come from standard input"))
    #expect(study.folder.names == ["study.key"])
  }

  @Test(
    "What has to be a file does not take it, nor an empty name",
    arguments: [
      ["init", "--db", "-"], ["restore", "--db", "s", "--from", "-"], ["backup", "--db", "s", "--output", "-"],
      ["sync", "--db", "s", "--host", "h", "--ca", "-"], ["sync", "--db", "s", "--host", "h", "--client-key", "-"],
      ["rotate-key", "--db", "s", "--generate", "--new-key-file", "-"], ["init", "--db", ""],
      ["export", "--db", "s", "--output", ""],
    ])
  func files(_ arguments: [String]) throws {
    let result = try run(arguments + ["--key-file", "study.key"])
    #expect(result.status == 2 && result.output.isEmpty)
    #expect(result.errors.contains("./-") || arguments.contains(""))
    #expect(study.folder.names == ["study.key"])
  }

  @Test func aFileOfThatNameIsNamedWithItsFolder() throws {
    #expect(try run(["keygen", "--key-file", "./-"]).status == 0)
    #expect(try run(["init", "--db", "study.db", "--key-file", "./-"]).status == 0)
    #expect(try run(["export", "--db", "study.db", "--key-file", "./-", "--output", "./-"]).errors.contains("exists"))
    #expect(study.folder.names == ["-", "study.db", "study.key"])
  }
}
