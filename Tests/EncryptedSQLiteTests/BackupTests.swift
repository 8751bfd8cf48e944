import EncryptedSQLite
import Foundation
import TestSupport
import Testing

@Suite struct BackupTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path("store.db") }
  private var copy: String { folder.path("it's a copy.db") }

  private func make(_ key: EncryptionKey) throws -> [String] {
    try SmallStore.make(path, key)
    let raw = RawSQLite(path, key: key)
    #expect(raw.execute(SmallStore.noise + "; DELETE FROM item WHERE id % 3 = 0; PRAGMA user_version = 7") == 0)
    return try SmallStore.texts(path, key)
  }

  @Test(arguments: [Keys.rawText, Keys.saltedText, Keys.passphraseText], [nil, "other words", Keys.saltedText])
  func aBackupHoldsWhatTheFileHolds(_ text: String, _ backupText: String?) throws {
    let key = try EncryptionKey(text)
    let backupKey = try backupText.map { try EncryptionKey($0) }
    let texts = try make(key)
    let before = folder.contents
    let report = try Database.backUp(path, key: key, to: copy, backupKey: backupKey)
    #expect(report.path == copy && report.counts["item"] == Int64(texts.count) && report.pages > 10)
    #expect(try SmallStore.texts(copy, backupKey ?? key) == texts)
    let connection = try Connection.open(copy, key: backupKey ?? key)
    #expect(try connection.integer("PRAGMA user_version") == 7)
    #expect(try connection.integer("SELECT max(id) FROM item") == 401)
    #expect(try connection.integrityFaults() == [])
    try connection.close()
    if let backupKey, backupKey != key { #expect(Keys.error { _ = try Connection.open(copy, key: key) } == .wrongKey) }
    #expect(folder.contents.filter { $0.key == "store.db" } == before)
    #expect(folder.names == ["it's a copy.db", "store.db"])
    let mode = try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func whatWasWrittenAndNotFoldedInIsInTheBackup() throws {
    let database = try SmallStore.open(path, Keys.raw)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('in the log')") }
    _ = try Database.backUp(path, key: Keys.raw, to: copy)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('later')") }
    #expect(try SmallStore.texts(copy, Keys.raw) == ["in the log"])
  }

  @Test func refusalsLeaveEverythingAsItWas() throws {
    _ = try make(Keys.raw)
    _ = folder.write("it's a copy.db", "somebody's")
    let before = folder.contents
    #expect(Keys.error { _ = try Database.backUp(path, key: Keys.raw, to: copy) } == .alreadyExists)
    #expect(Keys.error { _ = try Database.backUp(path, key: Keys.raw, to: path) } == .alreadyExists)
    #expect(Keys.error { _ = try Database.backUp(path, key: Keys.wrong, to: folder.path("x")) } == .wrongKey)
    #expect(Keys.error { _ = try Database.backUp(path, key: Keys.raw, to: folder.path("no/x")) } == .notFound)
    let cancelled = Keys.error {
      _ = try Database.backUp(path, key: Keys.raw, to: folder.path("x")) { _ in false }
    }
    #expect(cancelled == .cancelled)
    #expect(folder.contents == before)
  }

  /// The last page too, whose failure SQLCipher 3 would show at the next.
  @Test(arguments: [2, 10, 20, 0]) func aDamagedFileGivesNoBackup(_ page: Int) throws {
    _ = try make(Keys.raw)
    let connection = try Connection.open(path, key: Keys.raw)
    let size = Int(try connection.integer("PRAGMA page_size") ?? 0)
    let count = try connection.pageCount
    try connection.close()
    try Damage.flipBit(path, at: ((page == 0 ? count : page) - 1) * size + 40)
    let error = Keys.error { _ = try Database.backUp(path, key: Keys.raw, to: copy) }
    #expect(error == .corrupt)
    #expect(folder.names == ["store.db"])
  }

  // MARK: Restoring

  @Test func aBackupIsRestoredWhereNothingIs() throws {
    let texts = try make(Keys.raw)
    _ = try Database.backUp(path, key: Keys.raw, to: copy, backupKey: Keys.passphrase)
    try FileManager.default.removeItem(atPath: path)
    let report = try Database.restore(path, key: Keys.raw, from: copy, backupKey: Keys.passphrase)
    #expect(report.counts["item"] == Int64(texts.count))
    #expect(try SmallStore.texts(path, Keys.raw) == texts)
    #expect(folder.names == ["it's a copy.db", "store.db"])
  }

  @Test func aBackupTakesTheFilesPlace() throws {
    let texts = try make(Keys.raw)
    _ = try Database.backUp(path, key: Keys.raw, to: copy)
    let database = try SmallStore.open(path, Keys.raw)
    try database.write { try $0.run("DELETE FROM item") }
    try database.close()
    _ = try Database.restore(path, key: Keys.raw, from: copy)
    #expect(try SmallStore.texts(path, Keys.raw) == texts)
    let connection = try Connection.open(path, key: Keys.raw)
    #expect(try connection.text("PRAGMA journal_mode") == "wal")
    try connection.close()
    #expect(folder.names == ["it's a copy.db", "store.db"])
  }

  @Test func aFileInUseIsNotReplaced() throws {
    let texts = try make(Keys.raw)
    _ = try Database.backUp(path, key: Keys.raw, to: copy)
    let database = try SmallStore.open(path, Keys.raw)
    #expect(Keys.error { _ = try Database.restore(path, key: Keys.raw, from: copy, busyTimeout: 0.05) } == .busy)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('after')") }
    try database.close()
    #expect(try SmallStore.texts(path, Keys.raw) == texts + ["after"])
  }

  @Test func whatIsNoGoodBackupChangesNothing() throws {
    _ = try make(Keys.raw)
    _ = try Database.backUp(path, key: Keys.raw, to: copy)
    func refuse(_ code: DatabaseError.Code, _ key: EncryptionKey, from backup: String, to path: String? = nil) {
      let before = folder.contents
      let error = Keys.error { _ = try Database.restore(path ?? self.path, key: key, from: backup) }
      #expect(error == code)
      #expect(folder.contents == before)
    }
    refuse(.notFound, try Keys.raw, from: folder.path("absent"))
    refuse(.wrongKey, try Keys.wrong, from: copy)
    refuse(.invalidArgument, try Keys.raw, from: path)
    _ = folder.write("empty.db", "")
    refuse(.emptyFile, try Keys.raw, from: folder.path("empty.db"))
    // A file at the place that is not under the key is somebody else's.
    _ = folder.write("other.db", String(repeating: "not a store ", count: 2000))
    refuse(.wrongKey, try Keys.raw, from: copy, to: folder.path("other.db"))
    try Damage.flipBit(copy, at: FileSystem.size(copy) / 2 + 40)
    refuse(.corrupt, try Keys.raw, from: copy)
  }
}
