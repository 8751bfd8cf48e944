import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// Salvages of stores that are damaged in every place.
@Suite struct StoreSalvageCampaign {
  private let damaged = DamagedStore()

  @Test("Each page damaged in turn: every other row is saved, and what is lost is named")
  func everyPage() throws {
    try Campaign.run(keeping: damaged.folder) {
      let store = try SampleStore(damaged.path, key: Keys.raw, pages: Campaign.isLong ? 300 : 70)
      let original = try damaged.rows(damaged.path)
      try #require(try damaged.salvage(of: original, "undamaged")?.isWhole == true)
      var (whole, refused) = (0, 0)
      for page in 1...store.pages {
        let offset = store.offset(of: page) + 20
        try Damage.flipBit(damaged.path, at: offset)
        if let report = try damaged.salvage(of: original, "page \(page)") {
          whole += report.isWhole ? 1 : 0
          // The damaged page is one of the table's or one of its index's, so that the ids are known.
          try #require(report.tables.allSatisfy { $0.isExact || !$0.isFound }, "page \(page)")
        } else {
          refused += 1
        }
        try Damage.flipBit(damaged.path, at: offset)
      }
      // Free pages and indexes hold nothing else; without the first page, or the first of the schema, there is no table.
      try #require(whole > store.pages / 10 && whole < store.pages / 2)
      try #require((1...2).contains(refused))
      Campaign.report("salvages of \(store.pages) pages, each damaged: \(whole) lost nothing, \(refused) refused")
    }
  }

  @Test("Where many pages are damaged the ranges name all that is lost")
  func manyPages() throws {
    try Campaign.run(keeping: damaged.folder) {
      let store = try SampleStore(damaged.path, key: Keys.raw, pages: 150)
      let original = try damaged.rows(damaged.path)
      let sound = try #require(FileManager.default.contents(atPath: damaged.path))
      var generator = SeededGenerator(seed: 3)
      for round in 0..<Campaign.count(15) {
        try sound.write(to: URL(fileURLWithPath: damaged.path))
        for _ in 0..<Int.random(in: 2...60, using: &generator) {
          let page = Int.random(in: 8...store.pages, using: &generator)
          try Damage.flipBit(damaged.path, at: store.offset(of: page) + Int.random(in: 0..<500, using: &generator))
        }
        try damaged.salvage(of: original, "round \(round)")
      }
      Campaign.report("\(Campaign.count(15)) salvages with many damaged pages")
    }
  }

  @Test("Pages of zeros, and those behind the end of a file that was cut, do not come out as values of zeros")
  func zerosAndCuts() throws {
    try Campaign.run(keeping: damaged.folder) {
      let store = try SampleStore(damaged.path, key: Keys.raw, pages: 70)
      let original = try damaged.rows(damaged.path)
      let sound = try #require(FileManager.default.contents(atPath: damaged.path))
      for page in stride(from: 2, through: store.pages, by: Campaign.isLong ? 1 : 5) {
        var bytes = sound
        bytes.resetBytes(in: store.offset(of: page)..<store.offset(of: page + 1))
        try bytes.write(to: URL(fileURLWithPath: damaged.path))
        try damaged.salvage(of: original, "page \(page)")
      }
      for size in stride(from: store.pageSize / 2, to: sound.count, by: sound.count / (Campaign.isLong ? 300 : 15)) {
        try sound.prefix(size).write(to: URL(fileURLWithPath: damaged.path))
        try damaged.salvage(of: original, "\(size) bytes")
      }
      Campaign.report("salvages with \(store.pages - 1) pages of zeros, and of files that were cut")
    }
  }

  /// Its payload is the last column, so that nothing is read behind a value's last page.
  @Test(
    "A store of version 1 has no index to tell the ids: the ranges hold all that is lost, and it is brought up to date",
    arguments: ["flipped", "zeros", "cut"])
  func versionOne(damage: String) throws {
    try Campaign.run(keeping: damaged.folder) {
      _ = try NotificationStore.create(damaged.path, key: Keys.raw, migrator: SchemaMigrator([Migration.all[0]]))
      let connection = try Connection.open(damaged.path, key: Keys.raw)
      try connection.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100)
        INSERT INTO ios_silent_push (timestamp, deviceId, timezone, os, jsonVersion, payload)
          SELECT i, 'device', 0, 'iOS', 1, hex(randomblob(CASE WHEN i % 20 = 1 THEN 5000 ELSE 100 END)) FROM n;
        DELETE FROM ios_silent_push WHERE id % 10 = 0;
        """)
      var payloads: [Int64: String] = [:]
      try connection.forEachRow("SELECT id, payload FROM ios_silent_push") {
        payloads[$0.int64(at: 0)] = $0.string(at: 1)
      }
      let (pages, size) = (try connection.pageCount, Int(try connection.integer("PRAGMA page_size") ?? 0))
      try connection.close()
      let sound = try #require(FileManager.default.contents(atPath: damaged.path))
      for page in stride(from: 2, through: pages, by: Campaign.isLong ? 1 : damage == "flipped" ? 2 : 6) {
        var bytes = sound
        let place = (page - 1) * size..<page * size
        switch damage {
        case "flipped": bytes[place.lowerBound + 100] ^= 1
        case "zeros": bytes.resetBytes(in: place)
        default: bytes = bytes.prefix(place.lowerBound)
        }
        try bytes.write(to: URL(fileURLWithPath: damaged.path))
        guard let report = try? StoreSalvage.salvage(damaged.path, into: damaged.saved, key: Keys.raw) else { continue }
        let table = try #require(report.tables.first { $0.name == "ios_silent_push" })
        let store = try NotificationStore(.init(path: damaged.saved, key: Keys.raw))
        try #require(store.deviceId == "device" || table.saved == 0)
        let rows = try store.silentPushes.page(limit: 1000)
        try #require(rows.allSatisfy { payloads[$0.id ?? 0] == $0.payload }, "page \(page)")
        let ids = Set(rows.map { $0.id ?? 0 })
        for id in payloads.keys where table.isFound {
          try #require(ids.contains(id) != table.missing.contains { $0.contains(id) }, "page \(page), id \(id)")
        }
        try store.close()
        unlink(damaged.saved)
      }
      Campaign.report("salvages of \(pages) pages of version 1, \(damage)")
    }
  }
}
