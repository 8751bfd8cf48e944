import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// Stores whose first 32 bytes are in the clear.
@Suite(.enabled(if: ReadableHeader.isAvailable, "it takes SQLCipher 4"))
struct ReadableHeaderStoreTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path("store.db") }
  private var saved: String { folder.path("saved.db") }

  private func make() throws -> SampleStore {
    try SampleStore(path, key: Keys.salted, pages: Campaign.isLong ? 300 : 60, hasReadableHeader: true)
  }

  /// The faults that a verification finds; nil when the store does not open any more.
  private func faults() throws -> [String]? {
    // Files that were written just now are looked at several times.
    try FileManager.default.setAttributes([.modificationDate: Date() - 10], ofItemAtPath: path)
    do {
      return try StoreVerification(path: path, key: Keys.salted).checks.flatMap(\.faults)
    } catch let error as DatabaseError where [.wrongKey, .corrupt].contains(error.code) {
      return nil
    }
  }

  @Test func aStoreIsMadeUsedAndTold() throws {
    let sample = try make()
    #expect(ReadableHeader(path) == .expected(path))
    let status = try StoreStatus(path: path, key: Keys.salted)
    #expect(status.cipher.hasReadableHeader && status.journalMode == "wal")
    #expect(try faults() == [])
    #expect(try NotificationStore.create(saved, key: Keys.salted, hasReadableHeader: true))
    #expect(ReadableHeader(saved) == .expected(saved))
    let report = try NotificationStore.restore(saved, key: Keys.salted, from: path)
    #expect(report.pages == sample.pages && ReadableHeader(saved) == .expected(saved))
  }

  @Test("A flipped bit is found in every page, in the first from the 33rd byte on") func flippedBits() throws {
    let store = try make()
    var generator = SeededGenerator(seed: 3)
    var places = (1...store.pages).map { page in
      store.offset(of: page) + Int.random(in: (page == 1 ? 32 : 0)..<store.pageSize, using: &generator)
    }
    places += [32, 91, 92, 100, store.pageSize - 81, store.pageSize - 64, store.pageSize - 1]
    for place in places {
      try Damage.flipBit(path, at: place)
      let found = try faults()
      try #require(found != [], "byte \(place)")
      try #require(found != nil || place < store.pageSize, "byte \(place)")
      try Damage.flipBit(path, at: place)
    }
    try #require(try faults() == [])
  }

  @Test("A changed byte in the clear is found, but for the number of changes, which changes nothing")
  func bytesInTheClear() throws {
    _ = try make()
    let rows = try StoreStatus(path: path, key: Keys.salted).tables.map(\.count)
    for byte in 0..<32 {
      for bit in 0..<8 {
        try Damage.flip(path, bit: bit, at: byte)
        let found = try faults()
        let isNumberOfChanges = (24..<28).contains(byte)
        try #require((found == []) == isNumberOfChanges, "byte \(byte), bit \(bit): \(found ?? [])")
        if isNumberOfChanges {
          try #require(try StoreStatus(path: path, key: Keys.salted).tables.map(\.count) == rows)
        }
        try Damage.flip(path, bit: bit, at: byte)
      }
    }
    try #require(try faults() == [])
  }

  @Test func whatIsSalvagedHasOneToo() throws {
    let store = try make()
    try Damage.flipBit(path, at: store.offset(of: 20) + 50)
    let before = folder.contents
    let wrong = [try EncryptionKey(String(Keys.saltedText.dropLast(2)) + "0'"), try Keys.raw]
    for key in wrong {
      #expect(Keys.error { _ = try StoreSalvage.salvage(path, into: saved, key: key) } == .wrongKey)
      #expect(folder.contents == before)
    }
    let report = try StoreSalvage.salvage(path, into: saved, key: Keys.salted)
    #expect(!report.isWhole && report.tables.allSatisfy { $0.saved > 0 })
    #expect(ReadableHeader(saved) == .expected(saved))
    #expect(try StoreVerification(path: saved, key: Keys.salted).isSound)
    #expect(folder.contents.filter { $0.key != "saved.db" } == before)
  }

  @Test("Damage where the tables are listed is not a wrong key to a salvage") func damagedSchema() throws {
    let store = try make()
    try Damage.flipBit(path, at: 50)
    #expect(Keys.error { _ = try StoreSalvage.salvage(path, into: saved, key: Keys.salted) } == .wrongKey)
    try Damage.flipBit(path, at: 50)
    // The pages that the schema goes on in come right after the first.
    for page in 2...store.pages {
      try Damage.flipBit(path, at: store.offset(of: page) + 50)
      let error = Keys.error { _ = try StoreSalvage.salvage(path, into: saved, key: Keys.salted) }
      #expect(error == nil || error == .corrupt, "page \(page)")
      unlink(saved)
      try Damage.flipBit(path, at: store.offset(of: page) + 50)
      if page > 12 { break }
    }
  }

  @Test func itIsNotTakenForAPlaintextStore() throws {
    _ = try make()
    let before = folder.contents
    #expect(!PlaintextStore.isPlaintext(at: path) && !PlaintextStore.needsAdoption(at: path))
    #expect(try PlaintextStore.adopt(at: path, key: Keys.salted) == nil)
    #expect(folder.contents == before)
  }

  @Test func pythonReadsIt() throws {
    _ = try make()
    let script = """
      import sys
      from sqlcipher3 import dbapi2
      connection = dbapi2.connect(sys.argv[1])
      connection.execute('PRAGMA key = "' + sys.stdin.readline().rstrip() + '"')
      connection.execute("PRAGMA cipher_plaintext_header_size = 32")
      print(connection.execute("SELECT count(*) FROM ios_notification").fetchone()[0])
      """
    let result = try Program.run(Program.python, ["-c", script, path], input: Keys.saltedText + "\n")
    let status = try StoreStatus(path: path, key: Keys.salted)
    #expect(result.output == "\(try #require(status.tables.first).count)\n", "\(result.errors)")
  }
}
