import Foundation
import TestSupport

/// A study with pushes to send, and the options that lead to a server of the tests.
struct UploadingStudy {
  let study = Study()
  /// What the server has to have in its path.
  static let studyKey = "study-s3cret"
  static let signingKey = "a signing key of more than 32 bytes"

  init(pushes: Int = 5) throws {
    _ = try study.run("record", input: Study.pushes(pushes))
  }

  static func receiver(_ change: (inout Receiver.Options) -> Void = { _ in }) throws -> Receiver {
    var options = Receiver.Options()
    options.study = (1, studyKey)
    change(&options)
    return try Receiver(TestAuthority.shared.identity, options)
  }

  static func server(_ steps: ScriptedServer.Step...) throws -> ScriptedServer {
    try ScriptedServer(TestAuthority.shared.identity, ScriptedServer.Settings(steps))
  }

  /// `--host`, `--ca` and `--study-key-file`.
  func options(_ port: Int) throws -> [String] {
    [
      "--host", "localhost:\(port)", "--ca", try TestAuthority.shared.authority.certificate, "--study-key-file",
      study.folder.write("upload.key", Self.studyKey + "\n"),
    ]
  }

  /// `--signing-key-file`.
  func signing(_ key: String = signingKey) -> [String] {
    ["--signing-key-file", study.folder.write("signing.key", key + "\n")]
  }

  @discardableResult
  func sync(_ port: Int, _ more: [String] = []) throws -> Program.Result {
    try study.run("sync", with: options(port) + more)
  }

  /// What `status --json` says of the uploads of visible pushes.
  func uploads() throws -> [String: Any] {
    let status = JSON.parse(try study.run("status", "--json").output) as? [String: Any]
    return (status?["uploads"] as? [String: Any])?["ios_notification"] as? [String: Any] ?? [:]
  }
}
