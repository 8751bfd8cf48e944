import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// Backups and verifications of a store into which two processes write.
@Suite struct BackupCampaign {
  private let study = Study()

  /// What a backup holds of one writer.
  private struct Written {
    let transactions: Int
    let rows: Int
    let last: Int
  }

  private func written(_ path: String, by writer: Program.Running) throws -> Written {
    let connection = try Connection.open(path, key: Keys.raw, options: .init(access: .readOnly))
    defer { try? connection.close() }
    let query = """
      SELECT count(DISTINCT payload), count(*), ifnull(max(CAST(payload AS INTEGER)), 0)
      FROM ios_silent_push WHERE timestamp = ?
      """
    let written = try connection.firstRow(query, .integer(Int64(writer.identifier))) { row in
      Written(transactions: Int(row.int64(at: 0)), rows: Int(row.int64(at: 1)), last: Int(row.int64(at: 2)))
    }
    return try #require(written)
  }

  @Test(
    "A backup is sound, holds every row that was acknowledged before it, and no half transaction; the store itself verifies"
  )
  func whileTwoProcessesWrite() throws {
    try Campaign.run(keeping: study.folder) {
      try #require(try study.run("init").status == 0)
      let copy = study.folder.path("copy.db")
      let writers = try (0..<2).map { _ in
        try Program.start(Program.helper, ["pairs", study.database, study.keyFile])
      }
      for writer in writers { try #require(writer.waitForLine("1")) }
      let end = Date() + (Campaign.count(1) >= 50 ? 30 : 1)
      var backups = 0
      var transactions = 0
      repeat {
        let acknowledged = writers.map { $0.output.split(separator: "\n").count }
        try #require(try study.run("backup", "--output", copy, "--verify").status == 0)
        for (writer, number) in zip(writers, acknowledged) {
          let written = try written(copy, by: writer)
          try #require(written.transactions >= number && written.last == written.transactions, "backup \(backups)")
          try #require(written.rows == 2 * written.transactions, "backup \(backups)")
          transactions = max(transactions, written.transactions)
        }
        try FileManager.default.removeItem(atPath: copy)
        let verified = try study.run("verify")
        try #require(verified.status == 0, "backup \(backups): \(verified.output)")
        backups += 1
      } while Date() < end
      for writer in writers {
        try #require(writer.isRunning)
        writer.closeInput()
      }
      for writer in writers { try #require(writer.finish().lines.last == "ok") }
      try #require(study.folder.names == ["study.db", "study.key"])
      try #require(backups > 0)
      Campaign.report(
        "\(backups) backups and verifications while two processes wrote \(transactions) transactions each, at most")
    }
  }
}
