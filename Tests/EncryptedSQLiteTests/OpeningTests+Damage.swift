import EncryptedSQLite
import Foundation
import TestSupport
import Testing

extension OpeningTests {
  /// A store of a hundred kilobytes, and its page size.
  private func makeLargeStore() throws -> Int {
    try SmallStore.make(path, Keys.raw)
    let connection = try Connection.open(path, key: Keys.raw)
    try connection.execute(SmallStore.noise)
    let size = Int(try connection.integer("PRAGMA page_size") ?? 0)
    try connection.close()
    return size
  }

  private func readAll() throws {
    let connection = try Connection.open(path, key: Keys.raw)
    _ = try connection.integer("SELECT sum(length(text)) FROM item")
  }

  @Test("A flipped bit in any page is met as damage, at the read and at every read after it")
  func damage() throws {
    let pageSize = try makeLargeStore()
    let pages = FileSystem.size(path) / pageSize
    for page in [2, 3, 4, pages / 2, pages] {
      try Damage.flipBit(path, at: (page - 1) * pageSize + 150)
      let before = folder.contents
      for _ in 1...2 { #expect(Keys.error { try readAll() } == .corrupt, "page \(page)") }

      // On one connection: SQLCipher words the second meeting as a bare "SQL logic error".
      let connection = try Connection.open(path, key: Keys.raw)
      let sum = "SELECT sum(length(text)) FROM item"
      #expect(Keys.error { _ = try connection.integer(sum) } == .corrupt, "page \(page)")
      let error = Keys.error {
        try connection.readTransaction {
          #expect(Keys.error { _ = try connection.integer(sum) } == .corrupt, "page \(page)")
          #expect(
            Keys.error { _ = try connection.text("SELECT max(text || '') FROM item") } == .corrupt, "page \(page)")
          _ = try connection.integer(sum)
        }
      }
      #expect(error == .corrupt, "page \(page)")
      try connection.close()
      #expect(folder.contents == before, "page \(page)")
      try Damage.flipBit(path, at: (page - 1) * pageSize + 150)
    }
    try readAll()
  }

  /// SQLCipher reads such a page as zeros, and fails at the next one only.
  @Test("A value whose last page is damaged is not handed out with zeros in it, nor written back")
  func damagedEndOfAValue() throws {
    try SmallStore.make(path, Keys.raw, [String(repeating: "x", count: 20_000)])
    let database = try SmallStore.open(path, Keys.raw)
    let (pages, size) = try database.read { (try $0.pageCount, Int(try $0.integer("PRAGMA page_size") ?? 0)) }
    try database.close()
    try Damage.flipBit(path, at: (pages - 1) * size + 100)
    let before = folder.contents
    let damaged = try SmallStore.open(path, Keys.raw)
    for _ in 1...2 {
      #expect(Keys.error { _ = try damaged.read { try SmallStore.texts($0) } } == .corrupt)
      #expect(
        Keys.error { try damaged.write { try $0.execute("INSERT INTO item (text) SELECT text FROM item") } } == .corrupt
      )
    }
    try damaged.close()
    #expect(folder.contents == before)
  }

  @Test("A check of the whole file meets damage too, as a fault or as an error")
  func damageMetByTheCheck() throws {
    let pageSize = try makeLargeStore()
    try Damage.flipBit(path, at: 3 * pageSize + 150)
    let connection = try Connection.open(path, key: Keys.raw)
    let faults = Result { try connection.integrityFaults() }
    switch faults {
    case .success(let faults): #expect(!faults.isEmpty)
    case .failure(let error): #expect(error as? DatabaseError == DatabaseError(.corrupt, ""))
    }
    if connection.canCheckPageMACs { #expect(try connection.failedPageMACs().count == 1) }
  }

  @Test("Damage does not pass for a rotated or replaced file")
  func damageUnderAnOpenDatabase() throws {
    let pageSize = try makeLargeStore()
    try Damage.flipBit(path, at: 3 * pageSize + 150)
    let database = try SmallStore.open(path, Keys.raw)
    for _ in 1...2 {
      #expect(Keys.error { _ = try database.read { try SmallStore.texts($0) } } == .corrupt)
      #expect(Keys.error { try database.write { try $0.execute("UPDATE item SET text = 'x'") } } == .corrupt)
    }
    // What the damage does not touch can still be read and written.
    #expect(try database.read { try $0.text("SELECT text FROM item WHERE id = 1") } == "one")
    try database.close()
    try Damage.flipBit(path, at: 3 * pageSize + 150)
    #expect(try SmallStore.texts(path, Keys.raw).count == 402)
  }

  @Test("A mistake in SQL does not pass for damage")
  func mistakesAreNotDamage() throws {
    try SmallStore.make(path, Keys.raw)
    let connection = try Connection.open(path, key: Keys.raw)
    for sql in [
      "SELECT none FROM item", "SELEC", "SELECT abs(-9223372036854775808)", "INSERT INTO item VALUES (1)", "ROLLBACK",
    ] {
      #expect(Keys.error { try connection.execute(sql) } == .database, "\(sql)")
    }
  }

  @Test("A file cut at a page's border", arguments: [1, 3, 15])
  func truncation(pagesLost: Int) throws {
    let pageSize = try makeLargeStore()
    #expect(truncate(path, FileSystem.size(path) - pagesLost * pageSize) == 0)
    let before = folder.contents
    for _ in 1...2 { #expect(Keys.error { try readAll() } == .corrupt) }
    #expect(Keys.error { _ = try Connection.open(path, key: Keys.wrong) } == .wrongKey)
    #expect(folder.contents == before)
  }
}
