import EncryptedSQLite
import Foundation
import TestSupport
import Testing

@Suite struct KeyRotationTests {
  let folder = TemporaryFolder()
  var path: String { folder.path("store.db") }

  /// What a rotation goes from and to, and on what.
  struct Case: Sendable, CustomTestStringConvertible {
    let old: String
    let new: String
    let hasLog: Bool
    let isRewriting: Bool
    var isCopied: Bool { isRewriting || new == KeyRotationTests.otherKeys[1] }
    var testDescription: String {
      "\(kind(old)) to \(kind(new)), \(hasLog ? "log" : "journal"), \(isCopied ? "rewrite" : "in place")"
    }
    var hasPassphrase: Bool { [old, new].contains { (try? EncryptionKey($0))?.kind == .passphrase } }
    private func kind(_ key: String) -> String { (try? EncryptionKey(key)).map { "\($0.kind)" } ?? "" }
  }

  static let otherKeys = [
    "x'" + String(repeating: "5", count: 64) + "'", "x'" + String(repeating: "6", count: 96) + "'", "other words",
  ]
  static let cases = [Keys.rawText, Keys.saltedText, Keys.passphraseText].flatMap { old in
    otherKeys.flatMap { new in
      [true, false].flatMap { hasLog in
        [true, false].map { Case(old: old, new: new, hasLog: hasLog, isRewriting: $0) }
      }
    }
  }

  /// A file of some pages, closed.
  func make(_ key: EncryptionKey, hasLog: Bool = true, _ more: String = SmallStore.noise) throws {
    try SmallStore.make(path, key)
    let raw = RawSQLite(path, key: key)
    #expect(raw.execute(more + "; PRAGMA user_version = 7; PRAGMA application_id = 9") == 0)
    if !hasLog { #expect(raw.execute("PRAGMA journal_mode = DELETE") == 0) }
  }

  func salt() -> Data { (FileManager.default.contents(atPath: path) ?? Data()).prefix(16) }

  /// Of the pairs with a passphrase, whose derivation is slow on purpose, each in one of the four ways in turn.
  static let pairs = cases.enumerated().filter { index, each in
    Campaign.isLong || !each.hasPassphrase || index % 4 == index / 4 % 4
  }.map(\.element)

  @Test(arguments: pairs) func everyPairOfKeys(_ each: Case) throws {
    let (old, new) = (try EncryptionKey(each.old), try EncryptionKey(each.new))
    try make(old, hasLog: each.hasLog)
    let (before, saltBefore) = (try SmallStore.texts(path, old), salt())
    let report = try Database.rotateEncryptionKey(of: path, from: old, to: new, rewriting: each.isRewriting)
    #expect(report.method == (each.isCopied ? .rewrite : .inPlace))
    #expect(!report.wasDone && report.isLogFoldedIn && report.oldKey == old.kind && report.newKey == new.kind)
    #expect((saltBefore != salt()) == each.isCopied)
    if new.kind == .rawKeyWithSalt { #expect(salt() == Data(repeating: 0x66, count: 16)) }
    #expect(Keys.error { _ = try Connection.open(path, key: old) } == .wrongKey)
    let connection = try Connection.open(path, key: new)
    #expect(try SmallStore.texts(connection) == before)
    #expect(try connection.integer("PRAGMA user_version") == 7)
    #expect(try connection.integer("PRAGMA application_id") == 9)
    #expect(try connection.text("PRAGMA journal_mode") == (each.hasLog ? "wal" : "delete"))
    #expect(try connection.integrityFaults() == [])
    try connection.close()
    #expect(folder.names == ["store.db"])
  }

  @Test(arguments: [true, false]) func runAgainItSaysThatItIsDone(_ isRewriting: Bool) throws {
    try make(Keys.raw)
    let new = try EncryptionKey(Self.otherKeys[0])
    func rotate() throws -> RotationReport {
      try Database.rotateEncryptionKey(of: path, from: Keys.raw, to: new, rewriting: isRewriting)
    }
    #expect(try !rotate().wasDone)
    let before = folder.contents
    #expect(try rotate().wasDone)
    #expect(folder.contents == before)
  }

  @Test(arguments: [true, false]) func theDatabaseGoesOnUnderTheNewKey(_ isRewriting: Bool) throws {
    let database = try SmallStore.open(path, Keys.raw)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('before')") }
    #expect(try database.read { try SmallStore.texts($0) } == ["before"])
    let new = try EncryptionKey(Self.otherKeys[2])
    _ = try database.rotateEncryptionKey(to: new, rewriting: isRewriting)
    #expect(try database.read { try SmallStore.texts($0) } == ["before"])
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('after')") }
    _ = try database.rotateEncryptionKey(to: Keys.raw)
    #expect(try database.read { try SmallStore.texts($0) } == ["before", "after"])
    try database.close()
    #expect(try SmallStore.texts(path, Keys.raw) == ["before", "after"])
    #expect(folder.names == ["store.db"])
  }

  @Test(arguments: [true, false]) func theDatabaseIsReadAllTheWhile(_ isRewriting: Bool) throws {
    let database = try SmallStore.open(path, Keys.raw)
    try database.write { try $0.execute(SmallStore.noise) }
    let reads = DispatchQueue(label: "reads")
    let failures = Failures()
    let other = DispatchGroup()
    reads.async(group: other) {
      while !failures.isOver {
        do {
          _ = try database.read { try $0.integer("SELECT count(*) FROM item") }
        } catch {
          failures.add("\(error)")
        }
      }
    }
    for key in [Self.otherKeys[0], Keys.rawText, Self.otherKeys[2]] {
      _ = try database.rotateEncryptionKey(to: EncryptionKey(key), rewriting: isRewriting)
    }
    failures.end()
    other.wait()
    #expect(failures.texts == [])
  }

  /// Each page in turn, the last overflow page of the last value too: nothing that does not authenticate gets a new MAC.
  @Test(arguments: [true, false]) func noDamagedPageIsEncryptedAnew(_ isRewriting: Bool) throws {
    try make(Keys.raw, "INSERT INTO item (text) SELECT hex(randomblob(6000))")
    let connection = try Connection.open(path, key: Keys.raw)
    let (count, size) = (try connection.pageCount, Int(try connection.integer("PRAGMA page_size") ?? 0))
    try connection.close()
    for page in 2...count {
      try Damage.flipBit(path, at: (page - 1) * size + 40)
      let before = folder.contents
      let error = Keys.error {
        _ = try Database.rotateEncryptionKey(
          of: path, from: Keys.raw, to: EncryptionKey(Self.otherKeys[0]), rewriting: isRewriting)
      }
      #expect(error == .corrupt, "page \(page) of \(count)")
      #expect(folder.contents == before)
      try Damage.flipBit(path, at: (page - 1) * size + 40)
    }
  }

  @Test func anotherDatabaseOnTheFileGetsKeyChangedAndWritesNothing() throws {
    let one = try SmallStore.open(path, Keys.raw)
    let other = try SmallStore.open(path, Keys.raw)
    try other.write { try $0.run("INSERT INTO item (text) VALUES ('theirs')") }
    #expect(try other.read { try SmallStore.texts($0) } == ["theirs"])
    let new = try EncryptionKey(Self.otherKeys[0])
    _ = try one.rotateEncryptionKey(to: new)
    #expect(Keys.error { try other.write { try $0.run("INSERT INTO item (text) VALUES ('late')") } } == .keyChanged)
    #expect(Keys.error { _ = try other.read { try SmallStore.texts($0) } } == .keyChanged)
    #expect(try one.read { try SmallStore.texts($0) } == ["theirs"])
    try one.write { try $0.run("INSERT INTO item (text) VALUES ('mine')") }
    try other.close()
    try one.close()
    #expect(try SmallStore.texts(path, new) == ["theirs", "mine"])
  }
}

/// What went wrong on another thread, until that is told to end.
///
/// - Note: `@unchecked Sendable`: guarded by `lock`.
private final class Failures: @unchecked Sendable {
  private let lock = NSLock()
  private var found: [String] = []
  private var ended = false

  var texts: [String] { lock.withLock { found } }
  var isOver: Bool { lock.withLock { ended } }
  func add(_ text: String) { lock.withLock { found.append(text) } }
  func end() { lock.withLock { ended = true } }
}
