import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// No content and no key in any file or output, whatever the moment.
@Suite struct SecrecyTests {
  private static let sentinel = "SENTINEL-7c1f9a"
  private static let keys = [
    Keys.rawText, Keys.saltedText, "SECRET-WORDS-9e3b with 'quotes' and \"more\" \\",
  ]

  /// What a file might show of a text: itself, its hexadecimal and Base64 forms at each offset, and UTF-16.
  private func forms(of text: String) -> [Data] {
    let data = Data(text.utf8)
    let hexadecimal = Hexadecimal.text(data)
    let base64 = (0..<3).map { skip in
      // Without the digits at both ends, which depend on the neighbours.
      Data((Data(count: skip) + data).base64EncodedString().dropFirst(4).dropLast(4).utf8)
    }
    return [data, Data(hexadecimal.utf8), Data(hexadecimal.uppercased().utf8), text.data(using: .utf16LittleEndian)!]
      + base64
  }

  private func secrets(_ key: String) -> [Data] {
    var texts = [Self.sentinel, key]
    var bytes: [Data] = []
    if key.hasPrefix("x'") {
      let digits = String(key.dropFirst(2).prefix(64))
      texts.append(digits)
      bytes = [digits.uppercased()].map { Data($0.utf8) }
      bytes.append(
        Data(
          stride(from: 0, to: 64, by: 2).map {
            UInt8(Array(digits)[$0...($0 + 1)].map(String.init).joined(), radix: 16)!
          }))
      bytes.append(Data(bytes[1].base64EncodedString().utf8))
    }
    return texts.flatMap(forms) + bytes
  }

  private func expectNothing(of key: String, in files: [String: Data], _ moment: String) {
    for (name, content) in files where name != "study.key" && name != "pushes" {
      for secret in secrets(key) { #expect(content.range(of: secret) == nil, "\(name) \(moment)") }
    }
  }

  @Test(arguments: keys)
  func noFileAndNoOutputHoldsContentOrKey(key: String) throws {
    let study = Study(key: key)
    var output = ""
    let running = try study.start("record")
    running.type(Study.pushes(400, body: Self.sentinel))
    #expect(running.waitForLine("committed 400"))
    #expect(study.folder.names.contains("study.db-wal"))
    expectNothing(of: key, in: study.folder.contents, "while open")
    running.kill()
    let killed = running.finish()
    output += killed.output + killed.errors
    expectNothing(of: key, in: study.folder.contents, "after a kill")

    for arguments in [["status"], ["status", "--json"], ["verify"], ["migrate"], ["record", "pushes"]] {
      if arguments[0] == "record" {
        _ = study.folder.write("pushes", "{\"\(Self.sentinel)\n" + Study.pushes(1, body: Self.sentinel))
      }
      let result = try Program.run(
        Program.tool, [arguments[0], "--db", study.database, "--key-file", study.keyFile] + arguments.dropFirst(),
        folder: study.folder.path)
      output += result.output + result.errors
    }
    expectNothing(of: key, in: study.folder.contents, "after closing")

    // A key that does not fit, and damage, give messages: none of them may tell.
    let wrong = study.folder.write("wrong.key", "other words")
    let refused = try Program.run(Program.tool, ["list", "--db", study.database, "--key-file", wrong])
    output += refused.output + refused.errors
    for secret in secrets(key) { #expect(Data(output.utf8).range(of: secret) == nil, "an output") }

    // The positive control: what is looked for is there when it is exported.
    let exported = try study.run("export").output
    #expect(Data(exported.utf8).range(of: secrets(key)[0]) != nil)
  }

  @Test func migrationAndWipeLeaveNoPlaintextEither() throws {
    let study = Study(key: Fixture.goldenKey)
    let golden = TemporaryFolder()
    try FileManager.default.copyItem(
      atPath: try Fixture.golden(Fixture.readableGenerations[0], in: golden), toPath: study.database)
    try study.run("migrate")
    try study.run("record", input: Study.pushes(400, body: Self.sentinel))
    let store = try NotificationStore(.init(path: study.database, key: EncryptionKey(Fixture.goldenKey)))
    try store.wipe()
    for text in [Self.sentinel, "Saturday", "ios_notification", "SQLite format 3", Fixture.goldenKey] {
      for (name, content) in study.folder.contents where name != "study.key" {
        #expect(content.range(of: Data(text.utf8)) == nil, "\(name)")
      }
    }
  }

  @Test(arguments: [[], ["--rewrite"]], [0, 4000, 12_000, 60_000])
  func aRotationShowsNoKeyAndNoContent(_ options: [String], microseconds: UInt32) throws {
    let study = Study()
    let newKey = "x'" + String(repeating: "a1b2c3d4e5f60718", count: 4) + "'"
    let keyFile = study.folder.write("new.key", newKey + "\n")
    try study.run("record", input: Study.pushes(2000, body: Self.sentinel))
    let arguments = ["rotate-key", "--db", study.database, "--key-file", study.keyFile, "--new-key-file", keyFile]
    let running = try Program.start(Program.tool, arguments + options)
    for name in ["cmdline", "environ"] {
      let content = FileManager.default.contents(atPath: "/proc/\(running.identifier)/\(name)") ?? Data()
      for key in [Keys.rawText, newKey] {
        for secret in secrets(key) { #expect(content.range(of: secret) == nil) }
      }
    }
    usleep(microseconds)
    running.kill()
    let killed = running.finish()
    let rerun = try Program.run(Program.tool, arguments + options)
    #expect(rerun.status == 0)
    for (moment, output) in [("killed", killed), ("again", rerun)] {
      for key in [Keys.rawText, newKey] {
        let text = Data((output.output + output.errors).utf8)
        for secret in secrets(key) { #expect(text.range(of: secret) == nil, "\(moment)") }
      }
    }
    let files = study.folder.contents.filter { $0.key != "new.key" }
    #expect(files.keys.sorted() == ["study.db", "study.key"])
    for key in [Keys.rawText, newKey] { expectNothing(of: key, in: files, "after a rotation") }
  }

  /// The Swift runtime would print registers and the memory that they point to.
  @Test func aCrashPrintsNothing() throws {
    let study = Study()
    let running = try study.start("record")
    running.type(Study.pushes(1))
    #expect(running.waitForLine("committed 1"))
    running.signal(SIGSEGV)
    let result = running.finish()
    #expect(result.errors == "" && result.output.hasSuffix("committed 1\n"))
    #expect(result.status != 0)
  }

  /// Neither at the start of the program nor while it waits is a key among its arguments or in its environment.
  @Test func noKeyIsInTheProcessTable() throws {
    let study = Study()
    let running = try study.start("record")
    running.type(Study.pushes(1))
    #expect(running.waitForLine("committed 1"))
    for name in ["cmdline", "environ"] {
      let content = FileManager.default.contents(atPath: "/proc/\(running.identifier)/\(name)") ?? Data()
      #expect(content.range(of: Data(Keys.rawText.utf8)) == nil)
    }
    let limits = try String(contentsOfFile: "/proc/\(running.identifier)/limits", encoding: .utf8)
    let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
    #expect(core?.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"])
    running.closeInput()
    #expect(running.finish().status == 0)
  }
}
