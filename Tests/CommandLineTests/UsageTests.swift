import Foundation
import TestSupport
import Testing

@Suite struct UsageTests {
  private let commands = [
    "keygen", "init", "encrypt", "record", "list", "export", "status", "migrate", "verify", "restore", "wipe",
  ]

  @Test func helpTellsOfEveryCommandAndOption() throws {
    let help = try Program.run(Program.tool, ["--help"])
    #expect(help.status == 0 && help.errors.isEmpty)
    for command in commands {
      #expect(help.output.contains("  \(command)"))
      let own = try Program.run(Program.tool, [command, "--help"])
      #expect(own.status == 0 && own.output.hasPrefix("usage: aware-notification \(command) "))
      #expect(own.output.contains("--help"))
      // No option takes a key as its value.
      #expect(!own.output.contains("--key ") && !own.output.contains("--passphrase WORD"))
      #expect(try Program.run(Program.tool, ["help", command]).output == own.output)
    }
    for status in ["0", "1", "2", "130", "143"] { #expect(help.output.contains(" \(status) ")) }
    #expect(try Program.run(Program.tool, ["--version"]).output.contains("SQLCipher"))
    let version = JSON.parse(try Program.run(Program.tool, ["--version", "--json"]).output) as? [String: Any]
    #expect(version?["version"] is String && version?["cipherVersion"] is String && version?["debugBuild"] is Bool)
  }

  /// Tests that are meant for the optimized program would otherwise pass on the other one.
  @Test func theTestedProgramIsOfTheBuildThatWasAskedFor() throws {
    var testsAreDebug = false
    func note() -> Bool {
      testsAreDebug = true
      return true
    }
    assert(note())
    let version = try Program.run(Program.tool, ["--version"])
    #expect(version.status == 0)
    #expect(version.output.contains("debug build") == (Program.tested == nil && testsAreDebug), "\(Program.tool)")
  }

  @Test(arguments: [
    [], ["nothing"], ["--db", "x"], ["help", "nothing"], ["help", "list", "init"], ["--version", "list"], ["list"],
    ["list", "--db"], ["list", "--nothing"], ["list", "-x"],
    ["list", "--db", "a", "--db", "b"], ["list", "--db", "a", "--key-file", "k", "--key-fd", "3"],
    ["list", "--db", "a", "--key-fd", "three"], ["list", "--db", "a", "operand"], ["wipe", "--db", "a"],
    ["export", "--db", "a", "--format", "csv"], ["export", "--db", "a", "--format", "xml"],
    ["list", "--db", "a", "--table", "none"], ["list", "--db", "a", "--limit", "-1"], ["status", "--db=a", "--js"],
  ])
  func aWrongCallEndsWith2AndOneLine(arguments: [String]) throws {
    let result = try Program.run(Program.tool, arguments)
    #expect(result.status == 2)
    #expect(result.output.isEmpty)
    #expect(result.errors.hasPrefix("aware-notification: ") && result.errors.hasSuffix("--help\n"))
    #expect(result.errors.split(separator: "\n").count == 1)
  }

  /// Somebody who puts the key on the command line is told so, and it is not repeated.
  @Test(arguments: [
    ["list", "--db", "a", "--key=SECRET"], ["list", "--db", "a", "--key", "SECRET"],
    ["keygen", "--key=SECRET"], ["keygen", "--key", "SECRET"], ["list", "--db", "a", "--key-f=SECRET"],
    ["list", "--db", "a", "-kSECRET"], ["list", "--db", "a", "SECRET"], ["list", "--db", "a", "--key-file", "SECRET"],
    ["SECRET"],
  ])
  func aKeyOnTheCommandLineIsNeitherTakenNorRepeated(arguments: [String]) throws {
    let folder = TemporaryFolder()
    let result = try Program.run(Program.tool, arguments, folder: folder.path)
    #expect(result.status != 0)
    #expect(!(result.output + result.errors).contains("SECRET"))
    #expect(folder.names.isEmpty)
  }

  @Test func optionsAfterTwoDashesAreOperands() throws {
    let study = Study()
    let input = study.folder.write("--strange", Study.pushes(2))
    #expect(try study.run("record", "--", "--strange").output == "committed 2\n")
    #expect(FileManager.default.fileExists(atPath: input))
  }

  @Test func readingCommandsDoNotMakeAStore() throws {
    let study = Study()
    for command in ["list", "export", "status", "migrate", "verify"] {
      let result = try study.run(command)
      #expect(result.status == 1 && result.errors.contains("there is no such file"))
    }
    #expect(try study.run("wipe", "--yes").status == 1)
    #expect(study.folder.names == ["study.key"])
  }

  @Test func keygenMakesANewFileForTheOwner() throws {
    let folder = TemporaryFolder()
    let made = try Program.run(Program.tool, ["keygen", "--key-file", "k"], folder: folder.path)
    #expect(made.status == 0 && made.output == "k\n" && made.errors.isEmpty)
    let text = try String(contentsOfFile: folder.path("k"), encoding: .utf8)
    #expect(text.count == 68 && text.hasPrefix("x'") && text.hasSuffix("'\n"))
    let mode = try FileManager.default.attributesOfItem(atPath: folder.path("k"))[.posixPermissions] as? NSNumber
    #expect(mode?.intValue == 0o600)
    let again = try Program.run(Program.tool, ["keygen", "--key-file", "k"], folder: folder.path)
    #expect(again.status == 1 && again.errors.contains("exists already"))
    #expect(try String(contentsOfFile: folder.path("k"), encoding: .utf8) == text)
  }

  /// Random bytes would end in a line feed once in 256 files, and reading would take that away.
  @Test func keygenMakesASigningKeyOfDigits() throws {
    let folder = TemporaryFolder()
    let keys = try (0..<3).map { number in
      let made = try Program.run(
        Program.tool, ["keygen", "--signing", "--key-file", "k\(number)"], folder: folder.path)
      #expect(made.status == 0 && made.output == "k\(number)\n" && made.errors.isEmpty)
      let path = folder.path("k\(number)")
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
      #expect(mode?.intValue == 0o600)
      return try String(contentsOfFile: path, encoding: .utf8)
    }
    for key in keys {
      #expect(key.utf8.count == 65 && key.hasSuffix("\n"))
      #expect(key.dropLast().allSatisfy("0123456789abcdef".contains))
    }
    #expect(Set(keys).count == 3)
    let both = try Program.run(
      Program.tool, ["keygen", "--signing", "--with-salt", "--key-file", "both"], folder: folder.path)
    #expect(both.status == 2 && folder.names == ["k0", "k1", "k2"])
    for command in ["keygen", "sync", "record"] {
      let help = try Program.run(Program.tool, [command, "--help"]).output
      #expect(
        help.contains(command == "keygen" ? "the line end after them is not part of it" : "less one final LF or CRLF"))
    }
  }

  @Test func initMakesAStoreOnce() throws {
    let study = Study()
    #expect(try study.run("init").status == 0)
    let before = study.folder.contents
    let again = try study.run("init")
    #expect(again.status == 1 && again.errors.contains("exists already"))
    #expect(study.folder.contents == before)
  }

  /// A descriptor that the caller closed must not become the store's, or output would be written into it.
  @Test(arguments: [("list", ">&-", 1), ("export", ">&-", 1), ("record", "<&-", 1), ("list", "2>&-", 0)])
  func aClosedStandardDescriptorDoesNoHarm(command: String, closing: String, status: Int32) throws {
    let study = Study()
    try study.run("record", input: Study.pushes(3))
    let before = study.folder.contents
    let line = "exec \"$0\" \(command) --db \"$1\" --key-file \"$2\" \(closing)"
    let result = try Program.run("/bin/sh", ["-c", line, Program.tool, study.database, study.keyFile])
    #expect(result.status == status)
    #expect(study.folder.contents == before)
  }

  @Test func theKeyIsReadFromADescriptor() throws {
    let study = Study()
    try study.run("init")
    let command = "exec 3<\"$1\"; exec \"$2\" status --db \"$3\" --key-fd 3"
    let result = try Program.run("/bin/sh", ["-c", command, "sh", study.keyFile, Program.tool, study.database])
    #expect(result.status == 0)
    #expect(try Program.run(Program.tool, ["status", "--db", study.database, "--key-fd", "77"]).status == 1)
  }
}
