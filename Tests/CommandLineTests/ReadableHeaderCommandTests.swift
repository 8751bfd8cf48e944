import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// Stores with a readable header on the command line.
@Suite struct ReadableHeaderCommandTests {
  @Test func keygenMakesAKeyWithItsSalt() throws {
    let folder = TemporaryFolder()
    #expect(try Program.run(Program.tool, ["keygen", "--key-file", folder.path("k"), "--with-salt"]).status == 0)
    #expect(try KeyFile.read(folder.path("k")).kind == .rawKeyWithSalt)
  }

  @Test("It is made where asked, kept by every command, and told by status", .enabled(if: ReadableHeader.isAvailable))
  func aStoreOfThisKind() throws {
    let study = Study(key: Keys.saltedText)
    #expect(try study.run("init", "--readable-header").status == 0)
    #expect(try study.run("record", input: Study.pushes(5)).status == 0)
    #expect(try study.run("token", "00ff").status == 0)
    #expect(try study.run("status").lines.contains("header: readable"))
    for command in ["list", "export", "verify", "migrate", "encrypt"] {
      let result = try study.run(command)
      #expect(result.status == 0, "\(command): \(result.errors)")
    }
    #expect(try study.run("migrate", "--cipher").status == 0)
    let rotated = try study.run("rotate-key", "--new-key-file", study.folder.path("new.key"), "--generate")
    #expect(rotated.status == 0 && rotated.output.contains("by a compacted copy"))
    #expect(try KeyFile.read(study.folder.path("new.key")).kind == .rawKeyWithSalt)
    let now = ["--db", study.database, "--key-file", study.folder.path("new.key")]
    let status = try Program.run(Program.tool, ["status", "--json"] + now)
    #expect((JSON.parse(status.output) as? [String: Any])?["readableHeader"] as? Bool == true)
    let copy = study.folder.path("copy.db")
    #expect(try Program.run(Program.tool, ["backup", "--output", copy, "--verify"] + now).status == 0)
    #expect(ReadableHeader(copy) == .expected(copy))
    #expect(try Program.run(Program.tool, ["wipe", "--yes"] + now).status == 0)
    #expect(ReadableHeader(study.database) == .expected(study.database))
  }

  @Test("A key without salt is refused before anything is made or staged", .enabled(if: ReadableHeader.isAvailable))
  func refusals() throws {
    let raw = Study()
    let made = try raw.run("init", "--readable-header")
    #expect(made.status == 1 && made.errors.contains("keygen --with-salt"))
    #expect(raw.folder.names == ["study.key"])
    let study = Study(key: Keys.saltedText)
    #expect(try study.run("init", "--readable-header").status == 0)
    let keyFile = study.folder.write("raw.key", Keys.rawText)
    let before = study.folder.contents
    for arguments in [["rotate-key", "--new-key-file"], ["backup", "--output", "copy.db", "--backup-key-file"]] {
      let words =
        [arguments[0], "--db", study.database, "--key-file", study.keyFile] + arguments.dropFirst() + [keyFile]
      let result = try Program.run(Program.tool, words, folder: study.folder.path)
      #expect(result.status == 1 && result.errors.contains("give a raw key with its salt"), "\(result.errors)")
      #expect(study.folder.contents == before)
    }
    let opened = try Program.run(Program.tool, ["status", "--db", study.database, "--key-file", keyFile])
    #expect(opened.status == 1 && opened.errors.contains("it begins like a store with a readable header"))
  }

  @Test("Without SQLCipher 4 it is refused", .enabled(if: !ReadableHeader.isAvailable))
  func olderLibrary() throws {
    let study = Study(key: Keys.saltedText)
    let result = try study.run("init", "--readable-header")
    #expect(result.status == 1 && result.errors.contains("a readable header needs SQLCipher 4"))
    #expect(study.folder.names == ["study.key"])
    try ReadableHeader.makeElsewhere(study.database, key: Keys.saltedText)
    let before = study.folder.contents
    for command in ["status", "verify", "encrypt", "record", "wipe --yes"] {
      let words = command.split(separator: " ").map(String.init)
      let result = try Program.run(
        Program.tool, [words[0], "--db", study.database, "--key-file", study.keyFile] + words.dropFirst())
      #expect(result.status == 1 && result.errors.contains("only SQLCipher 4 reads"), "\(command): \(result.errors)")
    }
    #expect(study.folder.contents == before)
  }
}
