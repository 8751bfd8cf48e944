import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// Stores that somebody with the key has prepared.
@Suite struct HostileStoreTests {
  private let study = Study()

  private func change(_ sql: String) throws {
    try study.run("record", input: Study.pushes(20))
    let raw = RawSQLite(study.database, key: try Keys.raw)
    #expect(raw.execute(sql) == 0)
  }

  /// The trigger would delete what it is told of, or write without end.
  @Test("A trigger in the file does not run on what is written, and verify names it")
  func triggers() throws {
    try change(
      """
      CREATE TRIGGER thief AFTER INSERT ON ios_notification BEGIN DELETE FROM ios_notification; END;
      CREATE TRIGGER flood AFTER INSERT ON ios_notification BEGIN
        INSERT INTO ios_silent_push (timestamp, deviceId, timezone, os, jsonVersion, payload, recordId)
        SELECT 1, '', 0, '', 2, '', hex(randomblob(16)) FROM ios_notification a, ios_notification b; END;
      """)
    let more = Study.pushes(40).split(separator: "\n").dropFirst(20).joined(separator: "\n") + "\n"
    #expect(try study.run("record", input: more).status == 0)
    #expect(try study.run("list").lines.count == 40)
    let result = try study.run("verify")
    #expect(result.status == 1 && result.output.contains("the trigger thief is not of this store"))
  }

  @Test(
    "A view or a virtual table of one of our names is refused, before a row is asked of it",
    arguments: [
      "CREATE VIEW ios_silent_push AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
        + "SELECT id, 1 timestamp, '' deviceId, '' label, 0 timezone, '' os, 2 jsonVersion, '' payload, '' recordId, "
        + "0 timezoneOffset FROM n",
      "CREATE VIRTUAL TABLE ios_silent_push USING fts4(payload)",
      "CREATE VIEW IOS_SILENT_PUSH AS SELECT 1 AS id",
    ])
  func namesakes(sql: String) throws {
    try change("DROP TABLE ios_silent_push; \(sql)")
    let before = study.folder.contents["study.db"]
    for command in ["list", "export", "status", "migrate"] {
      let result = try study.run(command)
      #expect(result.status == 1 && result.errors.contains("is not a table"), "\(command)")
    }
    #expect(try study.run("record", input: Study.pushes(1)).errors.contains("is not a table"))
    let result = try study.run("verify")
    #expect(result.status == 1 && result.output.contains("is not a table"))
    #expect(study.folder.contents["study.db"] == before)
  }

  @Test(
    "A ledger that cannot be stops no command: sync says what it discards, and sends every row",
    arguments: [
      "sentThroughId = -9223372036854775808", "sentThroughId = 9223372036854775807", "sentThroughId = 'words'",
      "firstId = -9223372036854775808, lastId = 1, rowCount = 1", "firstId = 2, lastId = 1, rowCount = 1",
      "firstId = 1, lastId = 9223372036854775807, rowCount = 9223372036854775807",
      "attempts = 9223372036854775807", "notBefore = 9223372036854775807, lastSent = 9223372036854775807",
      "lastSent = -9223372036854775808, lastErrorTime = -9223372036854775808, rowLimit = -9223372036854775808",
    ])
  func ledger(values: String) throws {
    try change(
      """
      UPDATE upload_ledger SET idempotencyKey = 'k', digest = x'', envelopeTime = 1, encoderVersion = 1,
        serverType = 'rows', destination = 'd', firstId = 1, lastId = 1, rowCount = 1;
      UPDATE upload_ledger SET \(values);
      INSERT INTO upload_quarantine VALUES ('ios_notification', -9223372036854775808, 'reason', 1, 1);
      INSERT INTO delivery_receipt VALUES (9223372036854775807, x'00', 'n', 1, 9223372036854775807, -1);
      """)
    #expect(try study.run("verify").status == 1)
    for command in ["status", "list", "export"] { #expect(try study.run(command).status == 0, "\(command)") }
    #expect(try study.run("status", "--json").status == 0)
    let server = try UploadingStudy.server(.acknowledge)
    let options = try Self.syncOptions(study, server)
    #expect(try study.run("sync", with: options + ["--dry-run"]).status == 0)
    let synced = try study.run("sync", with: options)
    #expect(synced.status == 0 && synced.errors.contains("ios_notification: "), "\(synced.errors)")
    #expect(synced.errors.contains("discarded") && synced.output.contains("ios_notification: 20 sent, 0 waiting"))
    #expect(try study.run("verify").status == 0)
    let again = try study.run("sync", with: options)
    #expect(again.status == 0 && again.errors.isEmpty)
  }

  @Test("Huge values take memory for themselves, not for a page of them")
  func hugeValues() throws {
    try change("UPDATE ios_notification SET body = printf('%.*c', 2000000, 'x') WHERE id <= 12")
    for command in ["export", "status", "verify"] {
      let peak = try study.peakMemory(command, [])
      #expect((1...(45 << 10)).contains(peak), "\(command) took \(peak) KiB")
    }
  }

  /// The root of the notifications' table, or of another tree, an interior page.
  private func makeTree(_ name: String = "ios_notification", rows: Int = 500) throws -> Int {
    try study.run("record", input: Study.pushes(rows))
    let raw = RawSQLite(study.database, key: try Keys.raw)
    return raw.integer("SELECT rootpage FROM sqlite_master WHERE name = '\(name)'")
  }

  private func number(_ bytes: some Sequence<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
  private func bytes(_ page: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: page >> (24 - 8 * $0)) } }

  /// The options of a sync with a server that takes everything.
  static func syncOptions(_ study: Study, _ server: ScriptedServer) throws -> [String] {
    [
      "--host", "localhost:\(server.port)", "--ca", try TestAuthority.shared.authority.certificate,
      "--study-key-file", study.folder.write("upload.key", UploadingStudy.studyKey + "\n"),
    ]
  }

  private func expectEnds() throws {
    let server = try UploadingStudy.server(.acknowledge)
    let synced = try study.run("sync", with: Self.syncOptions(study, server))
    #expect(synced.status == 1 && synced.errors.contains("damaged"), "\(synced.errors)")
    for command in ["list", "export", "verify"] {
      let result = try study.run(command)
      #expect(result.status == 1, "\(command)")
      #expect((result.output + result.errors).contains("damaged") || result.output.contains("FAULT"), "\(command)")
    }
    // Counting need not meet it, but comes to an end.
    for command in ["status", "migrate"] { #expect(try study.run(command).status <= 1, "\(command)") }
    #expect(try study.run("record", input: Study.pushes(1)).status <= 1)
    let forged = study.folder.path("forged.db")
    try FileManager.default.moveItem(atPath: study.database, toPath: forged)
    let saved = try study.run("restore", "--salvage", "--from", forged)
    #expect(saved.output.hasPrefix("salvaged: ") && saved.status == (saved.output.contains("nothing was lost") ? 0 : 1))
    #expect(try study.run("verify").status == 0)
  }

  @Test("A tree that leads back to its root is met as damage")
  func loop() throws {
    let root = try makeTree()
    RawSQLite.edit(study.database, key: try Keys.raw, pages: [root]) { _, page in
      let cell = number(page[12..<14])
      page.replaceSubrange(cell..<cell + 4, with: bytes(root))
    }
    try expectEnds()
  }

  @Test("A tree with one page in two places is met as damage, and does not give rows for ever")
  func sharedPage() throws {
    RawSQLite.edit(study.database, key: try Keys.raw, pages: [try makeTree()]) { _, page in
      let cell = number(page[12..<14])
      page.replaceSubrange(cell..<cell + 4, with: page[8..<12])
    }
    try expectEnds()
  }

  /// Each page of sixteen has the next one ten times: more rows than could ever be read.
  ///
  /// - Parameter key: what a cell of the tree has behind the page that it leads to.
  private func branch(_ root: Int, kind: UInt8, key: (Int) -> [UInt8]) throws {
    var children: [Int] = []
    var looked = 0
    while children.count < 16, looked == 0 || looked < children.count {
      let parent = looked == 0 ? root : children[looked - 1]
      looked += 1
      RawSQLite.edit(study.database, key: try Keys.raw, pages: [parent]) { _, page in
        guard page[0] == kind else { return }
        for index in 0..<number(page[3..<5]) {
          let cell = number(page[12 + 2 * index..<14 + 2 * index])
          children.append(number(page[cell..<cell + 4]))
        }
      }
    }
    let chain = Array(children.prefix(16))
    try #require(chain.count == 16)
    RawSQLite.edit(study.database, key: try Keys.raw, pages: [root] + chain.dropLast()) { page, content in
      let next = bytes(page == root ? chain[0] : chain[chain.firstIndex(of: page).map { $0 + 1 } ?? 0])
      let cells = (1...10).map { next + key($0) }
      let size = cells[0].count
      let start = content.count - 100 - size * cells.count
      content.replaceSubrange(
        0..<12, with: [kind, 0, 0, 0, UInt8(cells.count), UInt8(start >> 8), UInt8(start & 255), 0] + next)
      for (index, cell) in cells.enumerated() {
        let place = start + size * index
        content.replaceSubrange(12 + 2 * index..<14 + 2 * index, with: [UInt8(place >> 8), UInt8(place & 255)])
        content.replaceSubrange(place..<place + size, with: cell)
      }
    }
  }

  @Test("A tree that branches into the same pages over and over is met as damage")
  func branches() throws {
    try branch(try makeTree(), kind: 5) { [UInt8($0)] }
    try expectEnds()
  }

  /// By the smallest index rows are counted.
  @Test(
    "An index that branches into the same pages over and over, or leads back to its root, is met as damage",
    arguments: [true, false])
  func indexes(isLoop: Bool) throws {
    let root = try makeTree("ios_notification_recordId", rows: 2000)
    if isLoop {
      RawSQLite.edit(study.database, key: try Keys.raw, pages: [root]) { _, page in
        let cell = number(page[12..<14])
        page.replaceSubrange(cell..<cell + 4, with: bytes(root))
      }
    } else {
      // A record of one value, NULL.
      try branch(root, kind: 2) { _ in [2, 2, 0] }
    }
    let result = try study.run("verify")
    #expect(result.status == 1 && result.output.contains("integrity: FAULT"))
    for command in ["status", "list", "export", "migrate"] { #expect(try study.run(command).status <= 1, "\(command)") }
    let copy = study.folder.path("copy.db")
    #expect(try study.run("backup", "--output", copy).status == 1)
    let salvaged = try Program.run(
      Program.tool, ["restore", "--salvage", "--from", study.database, "--db", copy, "--key-file", study.keyFile])
    #expect(salvaged.status == 0 && salvaged.output.contains("ios_notification: 2000 saved\n"))
  }
}
