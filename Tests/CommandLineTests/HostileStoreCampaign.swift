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

  private static let columns = [
    "upload_ledger": [
      "tableName", "sentThroughId", "idempotencyKey", "firstId", "lastId", "rowCount", "digest", "envelopeTime",
      "encoderVersion", "serverType", "destination", "attempts", "notBefore", "rowLimit", "lastSent", "lastError",
      "lastErrorTime",
    ],
    "upload_quarantine": ["rowId", "tableName", "reason", "since", "isRequeued"],
    "delivery_receipt": ["id", "recordId", "notificationId", "receivedAt", "attempts", "notBefore"],
    "upload_lease": ["id", "holder", "expires"],
    "sqlite_sequence": ["name", "seq"],
    "ios_notification": ["id"] + NotificationData.columns + NotificationData.writeOnlyColumns,
    "ios_silent_push": ["id"] + SilentPushData.columns,
  ]

  /// SQL of a value that a column may hold all the same.
  private func value(using random: inout SeededGenerator) -> String {
    let values = [
      "-9223372036854775808", "9223372036854775807", "\(Int64.random(in: .min ... .max, using: &random))",
      "\(Int.random(in: -3...30, using: &random))", "1e300", "-0.5", "''", "'words'", "x''", "zeroblob(32)",
      "CAST(x'ff' AS TEXT)", "NULL",
    ]
    return values[Int.random(in: 0..<values.count, using: &random)]
  }

  @Test("Whatever the rows say, every command ends with 0 or 1, and a sync leaves a ledger that is sound")
  func values() throws {
    try Campaign.run(keeping: study.folder) {
      try study.run("record", input: Study.pushes(20))
      let original = try #require(FileManager.default.contents(atPath: study.database))
      let server = try UploadingStudy.server(.acknowledge)
      let options = try HostileStoreTests.syncOptions(study, server)
      var random = SeededGenerator(seed: 29)
      let count = Campaign.count(6)
      for round in 0..<count {
        try original.write(to: URL(fileURLWithPath: study.database))
        let raw = RawSQLite(study.database, key: try Keys.raw)
        raw.execute(
          """
          INSERT INTO upload_quarantine VALUES ('ios_notification', 3, 'reason', 1, 0), ('ios_notification', 4, '', 1, 1);
          INSERT INTO delivery_receipt SELECT id, recordId, '', 1, 0, 0 FROM ios_notification WHERE id < 4;
          REPLACE INTO upload_lease VALUES (1, 'other', 1);
          """)
        let tables = ["upload_ledger", "upload_quarantine", "delivery_receipt", "upload_lease", "sqlite_sequence"]
        var changes: [String] = []
        for table in tables + [
          "ios_notification", "ios_silent_push", "upload_ledger", "upload_ledger",
        ] {
          let known = Self.columns[table] ?? []
          for _ in 0..<Int.random(in: 0...4, using: &random) {
            let column = known[Int.random(in: 0..<known.count, using: &random)]
            let row = "(SELECT \(known[0]) FROM \(table) ORDER BY random() LIMIT 1)"
            let one = Bool.random(using: &random) ? " WHERE \(known[0]) = \(row)" : ""
            changes.append("UPDATE OR IGNORE \(table) SET \(column) = \(value(using: &random))\(one)")
          }
        }
        for change in changes { raw.execute(change) }
        raw.close()
        let text = Comment(rawValue: "round \(round): " + changes.joined(separator: "; "))
        for command in ["verify", "status", "list", "export", "requeue", "sync", "sync"] {
          let result = try study.run(command, with: command == "sync" ? options : [])
          try #require([0, 1].contains(result.status), text)
        }
        let faults = try StoreVerification(path: study.database, key: Keys.raw).checks.filter { $0.name == "ledger" }
          .flatMap(\.faults)
        try #require(faults == [], text)
        for suffix in ["", "-wal", "-shm"] { unlink(study.database + suffix) }
      }
      Campaign.report("\(count) stores with impossible values: no command ended by a signal")
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
