import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// Stores with pages that somebody with the key has written over: they decrypt, and make no sense.
@Suite struct HostileStoreCampaign {
  private let study = Study()

  /// Writes nonsense over a page: some bytes, those that lead to rows and other pages, or another page.
  private func forge(_ page: inout [UInt8], from other: [UInt8], using random: inout SeededGenerator) {
    // The first page keeps the header of the file.
    let start = page.starts(with: Array("SQLite format 3\0".utf8)) ? 100 : 0
    switch Int.random(in: 0..<3, using: &random) {
    case 0:
      for _ in 0..<Int.random(in: 1...50, using: &random) {
        page[Int.random(in: start..<page.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
    case 1:
      for _ in 0..<4 {
        page[start + Int.random(in: 0..<40, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
    default:
      page.replaceSubrange(start..., with: other[start...])
    }
  }

  @Test("Whatever the pages say, every command ends with 0 or 1, and what is salvaged is a sound file")
  func nonsense() throws {
    try Campaign.run(keeping: study.folder) {
      try study.run("record", input: Study.pushes(300))
      let original = try #require(FileManager.default.contents(atPath: study.database))
      let raw = RawSQLite(study.database, key: try Keys.raw)
      let pages = raw.integer("PRAGMA page_count")
      raw.close()
      var random = SeededGenerator(seed: 23)
      let count = Campaign.count(4)
      var (sound, salvaged) = (0, 0)
      for round in 0..<count {
        try original.write(to: URL(fileURLWithPath: study.database))
        let wanted = (0..<Int.random(in: 1...3, using: &random)).map { _ in Int.random(in: 1...pages, using: &random) }
        var last: [UInt8]?
        // From the last page on, for with nonsense in the schema no more pages can be changed.
        RawSQLite.edit(study.database, key: try Keys.raw, pages: Set(wanted).sorted(by: >)) { _, page in
          let before = page
          forge(&page, from: last ?? page, using: &random)
          last = before
        }
        for arguments in [["verify"], ["status"], ["list"], ["export"], ["backup", "--output", "copy.db"]] {
          let result = try Program.run(
            Program.tool, arguments + ["--db", study.database, "--key-file", study.keyFile], folder: study.folder.path)
          try #require([0, 1].contains(result.status), "round \(round), pages \(wanted): \(arguments[0])")
          if arguments == ["verify"], result.status == 0 { sound += 1 }
        }
        let forged = study.folder.path("forged.db")
        try FileManager.default.moveItem(atPath: study.database, toPath: forged)
        let result = try study.run("restore", "--salvage", "--from", forged)
        try #require([0, 1].contains(result.status), "round \(round), pages \(wanted): salvage")
        if result.status == 0 {
          salvaged += 1
          // Nonsense in a row is a row all the same.
          let checks = try StoreVerification(path: study.database, key: Keys.raw).checks
          let faults = checks.filter { !["ledger", "records"].contains($0.name) }.flatMap(\.faults)
          try #require(faults == [], "round \(round), pages \(wanted)")
        }
        for name in study.folder.names where name != "study.key" { unlink(study.folder.path(name)) }
      }
      try #require(sound < count)
      Campaign.report("\(count) stores with nonsense in them: \(sound) sound, \(salvaged) salvaged")
    }
  }
}
