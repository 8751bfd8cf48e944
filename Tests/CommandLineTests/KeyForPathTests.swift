import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// A key itself given where the path of a file belongs.
@Suite struct KeyForPathTests {
  private let upload: UploadingStudy
  private var study: Study { upload.study }
  /// A value for each option, such that the command comes far with it.
  private let values: [String: String]

  init() throws {
    upload = try UploadingStudy(pushes: 1)
    let study = upload.study
    let (authority, identity) = try TestAuthority.shared
    let backup = study.folder.path("backup.db")
    #expect(try study.run("backup", "--output", backup).status == 0)
    values = [
      "db": study.database, "key-file": study.keyFile, "new-key-file": study.folder.path("new.key"), "from": backup,
      "backup-key-file": study.keyFile, "previous-key-file": study.keyFile, "output": study.folder.path("output"),
      "host": "localhost:1",
      "study-key-file": study.folder.write("upload.key", UploadingStudy.studyKey),
      "signing-key-file": study.folder.write("signing.key", UploadingStudy.signingKey),
      "ca": authority.certificate, "client-cert": identity.certificate, "client-key": identity.key,
    ]
  }

  private static func commands() throws -> [String] {
    try Program.run(Program.tool, ["--help"]).lines.filter { $0.hasPrefix("  ") }.compactMap {
      $0.split(separator: " ").first.map(String.init)
    }
  }

  /// The options of a command that take a file, as its help has them.
  private static func fileOptions(_ command: String) throws -> [String] {
    let lines = try Program.run(Program.tool, [command, "--help"]).lines.filter { $0.hasPrefix("  --") }
    return lines.compactMap { line in
      let words = line.split(separator: " ")
      return ["FILE", "PATH", "KEY", "NEW"].contains(words[1]) ? String(words[0].dropFirst(2)) : nil
    }
  }

  private func run(_ command: String, _ options: [String], _ option: String, _ key: String) throws -> Program.Result {
    var words = [command]
    for name in options {
      // A raw key for a store's path must not make one.
      words += ["--\(name)", name == option ? key : try #require(values[name], "no value for \(name)")]
    }
    if options.contains("ca") { words += ["--host", "localhost:1"] }
    if command == "sync" { words += ["--signing-key-id", "id"] }
    let input = command == "record" ? Study.pushes(1) : ""
    return try Program.run(Program.tool, words, input: input, folder: study.folder.path)
  }

  @Test(
    "No message of any command repeats it, whichever option it was given to",
    arguments: [Keys.rawText, "correct horse battery staple"])
  func noMessageRepeatsIt(key: String) throws {
    var count = 0
    for command in try Self.commands() {
      let options = try Self.fileOptions(command)
      #expect(options.contains("db") || command == "keygen")
      for option in options {
        for name in study.folder.names where !["study.db", "backup.db"].contains(name) && !name.hasSuffix(".key") {
          try FileManager.default.removeItem(atPath: study.folder.path(name))
        }
        let result = try run(command, options, option, key)
        count += 1
        #expect(!result.errors.contains(key), "\(command) --\(option): \(result.errors)")
        guard key == Keys.rawText else { continue }
        #expect(result.status == 2 && result.output.isEmpty, "\(command) --\(option)")
        #expect(result.errors.contains("--\(option) takes a path"), "\(command) --\(option): \(result.errors)")
        #expect(!study.folder.names.contains { $0.hasPrefix("x'") }, "\(command) --\(option)")
      }
    }
    #expect(count > 40)
  }

  @Test(
    "What is plainly a key is refused in every form",
    arguments: [
      "X'" + String(repeating: "0", count: 64) + "'", "x'short", String(repeating: "Ab", count: 32),
      Data((0..<32).map { 8 * $0 + 3 }).base64EncodedString(),
    ])
  func forms(key: String) throws {
    let result = try Program.run(Program.tool, ["keygen", "--key-file", key], folder: study.folder.path)
    #expect(result.status == 2 && !result.errors.contains(key))
  }

  @Test("A path is named in messages, also one that holds long words")
  func paths() throws {
    for path in ["participants.of.the.second.wave.db", "./participants", study.folder.path("absent/store")] {
      let result = try Program.run(
        Program.tool, ["status", "--db", path, "--key-file", study.keyFile], folder: study.folder.path)
      #expect(result.status == 1 && result.errors.contains(path.split(separator: "/").last ?? ""), "\(result.errors)")
    }
  }

  @Test("No file is made for a session's secrets, whatever the environment says")
  func keyLog() throws {
    let server = try UploadingStudy.server(.init(200, "{}"))
    let log = study.folder.path("secrets")
    let result = try Program.run(
      Program.tool, ["sync", "--db", study.database, "--key-file", study.keyFile] + upload.options(server.port),
      environment: ["SSLKEYLOGFILE": log])
    #expect(result.status == 0 && !FileManager.default.fileExists(atPath: log))
  }
}
