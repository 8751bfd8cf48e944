import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// Files that an older SQLCipher wrote. SQLCipher 4 writes them like this with `cipher_compatibility`; the golden files of
/// other tests come from the old libraries themselves.
@Suite struct CipherUpgradeTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path("it's old.db") }
  private static let isNewer = ((try? Connection.libraryVersion()) ?? "").hasPrefix("4")

  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    var key = Keys.rawText
    var generation = 3
    var settings = ""
    var cipher = Cipher.Settings()
    var leavesLog = false
    var testDescription: String { name }
  }

  static let cases = [
    Case(name: "raw key"), Case(name: "salted raw key", key: Keys.saltedText),
    Case(name: "passphrase with quotes", key: Keys.passphraseText),
    Case(name: "generation 2", generation: 2),
    Case(name: "generation 1", key: Keys.passphraseText, generation: 1),
    Case(name: "4096-byte pages", settings: "PRAGMA cipher_page_size = 4096;", cipher: .init(pageSize: 4096)),
    Case(
      name: "256,000 iterations", key: Keys.passphraseText, settings: "PRAGMA kdf_iter = 256000;",
      cipher: .init(kdfIterations: 256_000)),
    Case(
      name: "both", key: Keys.passphraseText, settings: "PRAGMA cipher_page_size = 4096; PRAGMA kdf_iter = 256000;",
      cipher: .init(pageSize: 4096, kdfIterations: 256_000)),
    Case(name: "a log left behind", leavesLog: true),
  ]

  private func make(_ each: Case) throws -> [String] {
    let schema = "CREATE TABLE item (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT);"
    let raw = RawSQLite(
      path, key: try EncryptionKey(each.key),
      settings: "PRAGMA cipher_compatibility = \(each.generation);" + each.settings)
    #expect(raw.execute(schema + SmallStore.noise) == 0)
    #expect(raw.execute("DELETE FROM item WHERE id > 390; PRAGMA user_version = 7; PRAGMA application_id = 9") == 0)
    if each.leavesLog {
      // As a killed process leaves it: copied while it is open.
      #expect(raw.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0") == 0)
      #expect(raw.execute("INSERT INTO item (text) VALUES ('only in the log')") == 0)
      let other = TemporaryFolder()
      for suffix in ["", "-wal"] {
        try FileManager.default.copyItem(atPath: path + suffix, toPath: other.path("copy" + suffix))
      }
      withExtendedLifetime(raw) {}
      for name in folder.names { try FileManager.default.removeItem(atPath: folder.path(name)) }
      for suffix in ["", "-wal"] {
        try FileManager.default.copyItem(atPath: other.path("copy" + suffix), toPath: path + suffix)
      }
    }
    let connection = try Connection.open(
      path, key: try EncryptionKey(each.key), options: .init(access: .readOnly, cipherSettings: each.cipher))
    defer { try? connection.close() }
    #expect(connection.cipher.isOlderThanLibrary)
    return try SmallStore.texts(connection)
  }

  @Test(.enabled(if: isNewer, "only a newer library upgrades"), arguments: cases)
  func anOlderFileIsUpgraded(_ each: Case) throws {
    let key = try EncryptionKey(each.key)
    let texts = try make(each)
    let before = folder.contents["it's old.db"]
    // A wrong key first: it must not spoil the right one.
    let wrong = Keys.error { _ = try Database.upgradeCipher(of: path, key: Keys.wrong, settings: each.cipher) }
    #expect(wrong == .wrongKey)
    // A log that was left is folded in by whoever closes the file last, with or without the key.
    if !each.leavesLog { #expect(folder.contents["it's old.db"] == before) }
    let report = try #require(try Database.upgradeCipher(of: path, key: key, settings: each.cipher))
    #expect((1...3).contains(report.from) && report.generation == 4 && report.counts["item"] == Int64(texts.count))
    let connection = try Connection.open(path, key: key)
    #expect(!connection.cipher.isOlderThanLibrary)
    #expect(try SmallStore.texts(connection) == texts)
    #expect(try connection.integer("PRAGMA user_version") == 7)
    #expect(try connection.integer("PRAGMA application_id") == 9)
    #expect(try connection.integer("SELECT seq FROM sqlite_sequence") ?? 0 >= 400)
    #expect(try connection.integer("PRAGMA page_size") == 4096)
    #expect(try connection.text("PRAGMA journal_mode") == (each.leavesLog ? "wal" : "delete"))
    try connection.close()
    #expect(folder.names == ["it's old.db"])
    #expect(try Database.upgradeCipher(of: path, key: key) == nil)
    #expect(try Database.upgradeCipher(of: path, key: key, settings: each.cipher) == nil)
  }

  @Test(.enabled(if: isNewer, "only a newer library upgrades")) func aFileInUseIsNotUpgraded() throws {
    let texts = try make(Case(name: "", leavesLog: true))
    let reader = try Connection.open(path, key: Keys.raw, options: .init(access: .readOnly))
    #expect(Keys.error { _ = try Database.upgradeCipher(of: path, key: Keys.raw, busyTimeout: 0.05) } == .busy)
    #expect(try SmallStore.texts(reader) == texts)
    try reader.close()
    #expect(try Database.upgradeCipher(of: path, key: Keys.raw)?.generation == 4)
  }

  @Test func aFileOfTheLibrarysFormatIsLeftAlone() throws {
    try SmallStore.make(path, Keys.raw)
    let before = folder.contents
    #expect(try Database.upgradeCipher(of: path, key: Keys.raw) == nil)
    #expect(folder.contents == before)
  }

  @Test(arguments: [(0, nil), (1000, nil), (131_072, nil), (nil, 0)] as [(Int?, Int?)])
  func settingsOutOfRangeAreRefused(_ values: (Int?, Int?)) throws {
    try SmallStore.make(path, Keys.raw)
    let settings = Cipher.Settings(pageSize: values.0, kdfIterations: values.1)
    #expect(
      Keys.error { _ = try Database.upgradeCipher(of: path, key: Keys.raw, settings: settings) } == .invalidArgument)
  }
}
