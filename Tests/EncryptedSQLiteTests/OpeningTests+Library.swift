import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// A process in which some other SQLite came before SQLCipher.
private enum PlainSQLite {
  static let library: String? = [
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib",
  ].map { $0 + "/libsqlite3.so.0" }.first { FileManager.default.fileExists(atPath: $0) }

  /// The environment for a process whose SQLite does not encrypt, and takes a key all the same: what a build that links
  /// the wrong library would be.
  static func environment(_ folder: TemporaryFolder) throws -> [String: String] {
    let source = folder.write(
      "shim.c",
      """
      int sqlite3_key_v2(void *database, const char *name, const void *key, int count) { return 0; }
      int sqlite3_rekey_v2(void *database, const char *name, const void *key, int count) { return 0; }
      """)
    let shim = folder.path("shim.so")
    let compiled = try Program.run("/usr/bin/env", ["cc", "-shared", "-fPIC", "-o", shim, source])
    try #require(compiled.status == 0, "\(compiled.errors)")
    return ["LD_PRELOAD": "\(shim):\(try #require(library))"]
  }
}

extension OpeningTests {
  @Test(.enabled(if: PlainSQLite.library != nil, "libsqlite3.so.0 is not installed"))
  func cipherUnavailable() throws {
    let tools = TemporaryFolder()
    let environment = try PlainSQLite.environment(tools)
    let keyFile = tools.write("key", Keys.rawText)

    func run(_ command: String) throws -> [String] {
      try Program.run(Program.helper, [command, path, keyFile], environment: environment).lines
    }
    for _ in 1...2 { #expect(try run("create") == ["cipherUnavailable"]) }
    #expect(folder.names.isEmpty, "nothing was written in the clear")

    try SmallStore.make(path, Keys.raw)
    let before = folder.contents
    for command in ["open", "read", "create", "open"] { #expect(try run(command) == ["cipherUnavailable"]) }
    #expect(folder.contents == before)
    #expect(try SmallStore.texts(path, Keys.raw) == ["one", "two"])
  }
}
