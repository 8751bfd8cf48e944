import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// Files are exchanged with the stock `sqlcipher` shell, which knows nothing of this package.
@Suite(.enabled(if: FileManager.default.fileExists(atPath: Program.shell), "the sqlcipher shell is not installed"))
struct StockToolsTests {
  let folder = TemporaryFolder()
  var path: String { folder.path("store") }

  /// The words of `PRAGMA key`: text in single quotes, SQLCipher's own literal in double quotes.
  static func pragma(_ key: String) -> String {
    key.hasPrefix("x'") ? "PRAGMA key = \"\(key)\";" : "PRAGMA key = '\(key.replacing("'", with: "''"))';"
  }

  /// What the shell prints, without the "ok" of newer ones for the key. The key goes in with the input, not in argv.
  private func shell(_ key: String, _ sql: String) throws -> [String] {
    let result = try Program.run(Program.shell, [path], input: Self.pragma(key) + "\n" + sql + "\n")
    #expect(result.errors.isEmpty, "\(result.errors)")
    return result.lines.filter { $0 != "ok" }
  }

  static let keys = [
    Keys.rawText, Keys.saltedText, Keys.passphraseText, "''", "\"", "back\\slash", "🔑 ü", " spaces ", "-- ; .quit",
    String(repeating: "0123456789", count: 100),
  ]

  @Test("The shell reads a file made here, with the key and no other setting", arguments: keys)
  func shellReadsOurs(_ key: String) throws {
    try SmallStore.make(path, EncryptionKey(key), ["it's", "ü🔔"])
    #expect(try shell(key, "SELECT text FROM item ORDER BY id;") == ["it's", "ü🔔"])
  }

  @Test("A file that the shell made opens here", arguments: keys)
  func shellsOpensHere(_ key: String) throws {
    #expect(try shell(key, "\(SmallStore.schema); INSERT INTO item (text) VALUES ('theirs');").isEmpty)
    #expect(try SmallStore.texts(path, EncryptionKey(key)) == ["theirs"])
    let database = try SmallStore.open(path, EncryptionKey(key))
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('ours')") }
    try database.close()
    #expect(try shell(key, "SELECT text FROM item ORDER BY id;") == ["theirs", "ours"])
  }

  @Test("passphrase(_:) is what the shell makes of a mistyped raw key")
  func mistypedRawKey() throws {
    let text = String(Keys.rawText.dropLast(2)) + "'"
    try SmallStore.make(path, .passphrase(text))
    #expect(try shell(text, "SELECT count(*) FROM item;") == ["2"])
  }

  @Test("A new raw key opens in the shell")
  func randomKey() throws {
    let key = EncryptionKey.random()
    try SmallStore.make(path, key)
    let text = key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    #expect(try shell(text, "SELECT count(*) FROM item;") == ["2"])
  }

  @Test("The shell cannot read it under another key")
  func wrongKey() throws {
    try SmallStore.make(path, Keys.raw)
    let before = folder.contents
    let input = Self.pragma("wrong") + "\nSELECT text FROM item;\n"
    let result = try Program.run(Program.shell, [path], input: input)
    #expect(!result.output.contains("one") && !result.errors.isEmpty)
    #expect(folder.contents == before)
  }
}
