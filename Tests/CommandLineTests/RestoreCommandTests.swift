import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// `restore --salvage`.
@Suite struct RestoreCommandTests {
  private let study = Study()
  private var damaged: String { study.folder.path("damaged.db") }

  /// A store with a damaged page among those of its notifications.
  private func makeDamaged(rows: Int = 300) throws {
    try study.run("record", input: Study.pushes(rows))
    try FileManager.default.moveItem(atPath: study.database, toPath: damaged)
    let size = RawSQLite(damaged, key: try Keys.raw).integer("PRAGMA page_size")
    for page in (10..<FileSystem.size(damaged) / size).reversed() {
      try Damage.flipBit(damaged, at: (page - 1) * size + 20)
      let connection = try Connection.open(damaged, key: Keys.raw, options: .init(access: .readOnly))
      guard (try? connection.integer("SELECT sum(length(body)) FROM ios_notification")) != nil else { return }
      try Damage.flipBit(damaged, at: (page - 1) * size + 20)
    }
    Issue.record("no page holds notifications")
  }

  @Test func salvageSavesWhatItCanAndTellsWhatIsLost() throws {
    try makeDamaged()
    let before = study.folder.contents["damaged.db"]
    let told = try study.run("restore", "--salvage", "--from", damaged)
    #expect(told.status == 1 && told.errors.isEmpty, "records are lost")
    #expect(told.output.hasPrefix("salvaged: \(study.database)\nios_notification: "))
    #expect(try study.run("verify").status == 0)
    let count = try study.run("list").lines.count
    #expect(told.output.contains("ios_notification: \(count) saved"))
    #expect(study.folder.contents["damaged.db"] == before)
    #expect(try study.run("restore", "--salvage", "--from", damaged).errors.contains("exists already"))

    unlink(study.database)
    let result = try study.run("restore", "--salvage", "--from", damaged, "--json")
    let json = try #require(JSON.parse(result.output) as? [String: Any])
    let tables = try #require(json["tables"] as? [[String: Any]])
    let table = try #require(tables.first { $0["name"] as? String == "ios_notification" })
    let missing = try #require(table["missing"] as? [[Int]])
    #expect(table["saved"] as? Int == count && table["exact"] as? Bool == true)
    #expect(missing.reduce(0) { $0 + $1[1] - $1[0] + 1 } == 300 - count)
    #expect(result.status == 1 && json["whole"] as? Bool == false && count < 300)
    #expect(study.folder.names == ["damaged.db", "study.db", "study.key"])
  }

  @Test func aWholeStoreIsSavedWithStatus0() throws {
    try study.run("record", input: Study.pushes(5))
    try FileManager.default.moveItem(atPath: study.database, toPath: damaged)
    let told = try study.run("restore", "--salvage", "--from", damaged)
    #expect(told.status == 0 && told.output.contains("nothing was lost"))
  }

  @Test func anAbsentFileOrStoreIsNamed() throws {
    #expect(try study.run("restore", "--from", damaged).status == 1)
    #expect(try study.run("restore", "--salvage").status == 2)
    #expect(try study.run("restore", "--from", damaged, "--page-size", "1024").errors.contains("go with --salvage"))
    #expect(study.folder.names == ["study.key"])
  }

  @Test(arguments: [SIGINT, SIGTERM]) func anInterruptedSalvageLeavesNothing(_ signal: Int32) throws {
    try makeDamaged(rows: 5000)
    let odd = try study.run("restore", "--salvage", "--from", damaged, "--page-size", "1000")
    #expect(odd.status == 2 && odd.errors.contains("power of two"))
    let before = study.folder.contents
    let running = try study.start("restore", "--salvage", "--from", damaged)
    while running.isRunning, !study.folder.names.contains(where: { $0.contains(".new-") }) { usleep(500) }
    running.signal(signal)
    let result = running.finish()
    #expect(result.status == 128 + signal && result.errors.contains("was interrupted") && result.output.isEmpty)
    #expect(study.folder.contents == before)
  }
}
