import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// Verifications of stores that are damaged in every place.
@Suite struct StoreVerificationCampaign {
  private let folder = TemporaryFolder()
  private var path: String { folder.path("store.db") }

  private func verify() throws -> StoreVerification { try StoreVerification(path: path, key: Keys.raw) }

  /// Whether it is found, as a fault or because the store does not open any more.
  private func isFound() throws -> Bool {
    // Files that were written just now are looked at several times.
    try FileManager.default.setAttributes([.modificationDate: Date() - 10], ofItemAtPath: path)
    do {
      return try !verify().isSound
    } catch let error as DatabaseError where [.wrongKey, .corrupt, .emptyFile].contains(error.code) {
      return true
    }
  }

  @Test("A flipped bit is found in every page: tables, indexes, overflow, free ones")
  func flippedBits() throws {
    try Campaign.run(keeping: folder) {
      let store = try SampleStore(path, key: Keys.raw)
      try #require(store.pages >= 300)
      try #require(try verify().isSound)
      let connection = try Connection.open(path, key: Keys.raw, options: .init(access: .readOnly))
      let isOld = connection.cipher.generation < 4
      try #require(try connection.integer("PRAGMA freelist_count") ?? 0 > 10)
      try connection.close()
      // Behind its MAC a page of the old format has twelve bytes that nothing authenticates.
      let authenticated = store.pageSize - (isOld ? 12 : 0)
      var generator = SeededGenerator(seed: 1)
      for page in 1...store.pages {
        let offset = store.offset(of: page) + Int.random(in: 0..<authenticated, using: &generator)
        try Damage.flipBit(path, at: offset)
        try #require(try isFound(), "page \(page)")
        try Damage.flipBit(path, at: offset)
      }
      try #require(try verify().isSound)
      Campaign.report("\(store.pages) flipped bits are found")
    }
  }

  @Test("A page of zeros is found, whatever it was")
  func zeroedPages() throws {
    try Campaign.run(keeping: folder) {
      let store = try SampleStore(path, key: Keys.raw, pages: Campaign.isLong ? 300 : 100)
      let connection = try Connection.open(path, key: Keys.raw)
      try connection.execute("VACUUM")
      let pages = try connection.pageCount
      try connection.close()
      let whole = try #require(FileManager.default.contents(atPath: path))
      for page in 2...pages {
        var bytes = whole
        bytes.resetBytes(in: store.offset(of: page)..<store.offset(of: page + 1))
        try bytes.write(to: URL(fileURLWithPath: path))
        try #require(try isFound(), "page \(page)")
      }
      Campaign.report("\(pages - 1) pages of zeros are found")
    }
  }

  @Test("A file that was cut is found, at every page and at odd sizes, and so is one with something behind it")
  func truncation() throws {
    try Campaign.run(keeping: folder) {
      let store = try SampleStore(path, key: Keys.raw)
      let whole = try #require(FileManager.default.contents(atPath: path))
      let cuts = (0..<store.pages).map { $0 * store.pageSize }
      var generator = SeededGenerator(seed: 2)
      let odd = (0..<Campaign.count(20)).map { _ in Int.random(in: 0..<whole.count, using: &generator) }
      let every = Campaign.isLong ? cuts : cuts.enumerated().filter { $0.offset % 10 < 2 }.map(\.element)
      for size in every + [0, 1, 2, 15, 16, 17, 511, 1023, whole.count - 1] + odd {
        try whole.prefix(size).write(to: URL(fileURLWithPath: path))
        try #require(try isFound(), "\(size) bytes")
      }
      for excess in [1, 7, store.pageSize] {
        try (whole + Data(repeating: 1, count: excess)).write(to: URL(fileURLWithPath: path))
        try #require(try isFound(), "\(excess) bytes more")
      }
      try whole.write(to: URL(fileURLWithPath: path))
      try #require(try verify().isSound)
      Campaign.report("\(every.count + odd.count) files that were cut are found")
    }
  }
}
