import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import NotificationSync

/// A ledger into which another program with the key has written what no sync writes.
@Suite("A sync with a ledger that cannot be", .timeLimit(.minutes(3))) struct HostileLedgerTests {
  /// SQL of values that no arithmetic and no type holds for.
  static let values = [
    "-9223372036854775808", "9223372036854775807", "-1", "0", "7", "2147483648", "253402300800000", "1e300", "''",
    "'1' || char(13) || 'Host: other'", "CAST(x'ff' AS TEXT)", "x''", "zeroblob(32)", "NULL",
  ]
  private static let ledgerColumns = [
    "sentThroughId", "idempotencyKey", "firstId", "lastId", "rowCount", "digest", "envelopeTime", "encoderVersion",
    "serverType", "destination", "attempts", "notBefore", "rowLimit", "lastSent", "lastError", "lastErrorTime",
  ]
  private let bench: SyncBench

  init() throws {
    bench = try SyncBench()
    // Once for many syncs, at the end of a test.
    bench.verifies = false
    try bench.add(5)
    try bench.addOthers(pushes: 2)
  }

  /// Begins a batch of the first `rows` notifications, whose bytes cannot be built again.
  private func beginBatch(_ rows: Int = 2) throws {
    let target = try bench.synchronizer().target
    try bench.store.startUploadsAnew()
    try bench.execute(
      """
      DELETE FROM upload_quarantine;
      UPDATE upload_ledger SET idempotencyKey = 'key-1', firstId = 1, lastId = \(rows), rowCount = \(rows),
        digest = zeroblob(32), envelopeTime = 1, encoderVersion = \(BatchFormat.encoderVersion),
        serverType = '\(target.format.name)', destination = '\(target.destination)'
      WHERE tableName = 'ios_notification'
      """)
  }

  /// Sends, and looks that no row is left out.
  private func expectAllSent(_ server: ScriptedServer, _ comment: Comment) async throws -> SyncReport {
    let before = server.requests().count
    let report = try await bench.sync(force: true)
    #expect(report.error == nil && report.pending == 0, comment)
    let bodies = server.bodies.dropFirst(before).flatMap { $0 }
    #expect(Set(bodies) == Set(0..<5), comment)
    return report
  }

  @Test("sends every row, whatever a column holds", arguments: ledgerColumns)
  func columns(column: String) async throws {
    let server = try bench.script(.acknowledge)
    for value in Self.values {
      try beginBatch()
      // Where NULL is not allowed, the value stays as it was.
      try bench.execute("UPDATE OR IGNORE upload_ledger SET \(column) = \(value)")
      // Rows that count as sent would say nothing; the largest cursor of this table is 5.
      _ = try await expectAllSent(server, "\(column) = \(value)")
    }
    try bench.verify()
  }

  @Test(
    "discards what does not fit together, and says so",
    arguments: [
      "firstId = 2, lastId = 1", "firstId = 1, lastId = 6", "firstId = -9223372036854775808, lastId = 1",
      "firstId = -9223372036854775808, lastId = 9223372036854775807, rowCount = 9223372036854775807",
      "firstId = 9223372036854775807, lastId = 9223372036854775807, rowCount = 1", "rowCount = 3", "rowCount = 0",
      "digest = x''", "sentThroughId = 6", "sentThroughId = 1", "idempotencyKey = NULL", "destination = NULL",
    ])
  func combinations(change: String) async throws {
    let server = try bench.script(.acknowledge)
    try beginBatch()
    try bench.execute("UPDATE upload_ledger SET \(change) WHERE tableName = 'ios_notification'")
    #expect(try StoreVerification(path: bench.path, key: Keys.raw).checks.contains { !$0.faults.isEmpty })
    let report = try await bench.sync(force: true)
    #expect(report.discarded.count == 1 && report.discarded[0].hasPrefix("ios_notification: "))
    #expect(report.error == nil && report.pending == 0)
    // Where the cursor is possible, the rows up to it count as sent.
    #expect(server.bodies.flatMap { $0 } == Array((change == "sentThroughId = 1" ? 1 : 0)..<5))
    #expect(bench.log.snapshot.contains { $0.hasPrefix("error: ios_notification: ") && $0.contains("discarded") })
    #expect(try await bench.sync().discarded == [])
    try bench.verify()
  }

  /// Such a batch would be built of no rows, and have that digest.
  @Test("does not acknowledge a batch of rows that are gone")
  func goneRows() async throws {
    let server = try bench.script(.acknowledge)
    try beginBatch()
    try bench.execute("DELETE FROM ios_notification WHERE id <= 2; UPDATE upload_ledger SET digest = x''")
    #expect(try await bench.sync(force: true).tables[0].sent == 3)
    #expect(server.bodies.flatMap { $0 } == [2, 3, 4])
  }

  @Test("makes the rows of a ledger that has none") func missingRows() async throws {
    let server = try bench.script(.acknowledge)
    try bench.execute("DELETE FROM upload_ledger")
    #expect(try await expectAllSent(server, "").discarded.count == 3)
    try bench.verify()
  }

  @Test("leaves out ids of the quarantine that no row has, and takes the others") func quarantine() async throws {
    let server = try bench.script(.acknowledge)
    // A row with such an id, which no sync can have reached.
    try bench.execute(
      """
      UPDATE ios_notification SET id = -9223372036854775808 WHERE id = 5;
      UPDATE upload_ledger SET sentThroughId = 4 WHERE tableName = 'ios_notification'
      """)
    for value in Self.values + ["1", "2"] where value != "NULL" {
      for isRequeued in ["1", "0", "7", "'words'", "x'01'"] {
        try bench.execute(
          "INSERT OR REPLACE INTO upload_quarantine VALUES ('ios_notification', \(value), \(value), \(value), \(isRequeued))"
        )
      }
      #expect(try await bench.sync(force: true).error == nil, "\(value)")
      _ = try bench.store.requeue()
      #expect(try await bench.sync(force: true).error == nil, "\(value)")
    }
    #expect(Set(server.bodies.flatMap { $0 }) == [0, 1])
    #expect(try bench.setAside().isEmpty && bench.pending() == 0)
    try bench.verify()
  }

  @Test("is not kept from sending by a lease that cannot be") func lease() async throws {
    let server = try bench.script(.acknowledge)
    for value in Self.values where value != "NULL" {
      try bench.store.startUploadsAnew()
      try bench.execute("REPLACE INTO upload_lease (id, holder, expires) VALUES (1, \(value), \(value))")
      _ = try await expectAllSent(server, "\(value)")
    }
  }

  @Test("sends a receipt once, whatever the others hold") func receipts() async throws {
    let server = try bench.script(Step(200))
    bench.settings.deliveryReceiptURL = "https://localhost:\(server.port)/receipt/"
    _ = try await bench.sync()
    for column in ["recordId", "notificationId", "receivedAt", "attempts", "notBefore", "id"] {
      for value in Self.values where value != "NULL" {
        try bench.execute(
          """
          DELETE FROM delivery_receipt;
          INSERT INTO delivery_receipt (id, recordId, notificationId, receivedAt)
            VALUES (5, '01a22c17-0ed4-76d2-8cf7-d033c1dc1c8b', 'n', 1), (6, '01a22c17-0ed4-76d2-8cf7-d033c1dc1c8c', 'n', 1);
          UPDATE OR IGNORE delivery_receipt SET \(column) = \(value) WHERE recordId LIKE '%8c' AND
            (typeof(\(value)) = 'integer' OR '\(column)' <> 'id')
          """)
        let before = server.requests().count
        let report = try await bench.sync(force: true)
        #expect(report.receiptError == nil, "\(column) = \(value)")
        #expect((1...2).contains(report.receipts), "\(column) = \(value)")
        #expect(server.requests().count - before == report.receipts, "\(column) = \(value)")
        #expect(try bench.count("delivery_receipt") == 0, "\(column) = \(value)")
      }
    }
    try bench.verify()
  }

  @Test("postpones a receipt, whatever its attempts") func postponed() async throws {
    let server = try bench.script([.acknowledge, .acknowledge, .acknowledge], otherwise: Step(500))
    bench.settings.deliveryReceiptURL = "https://localhost:\(server.port)/receipt/"
    for value in Self.values where value != "NULL" {
      try bench.execute(
        "REPLACE INTO delivery_receipt (recordId, notificationId, receivedAt, attempts) "
          + "VALUES ('01a22c17-0ed4-76d2-8cf7-d033c1dc1c8b', 'n', 1, \(value))")
      #expect(try await bench.sync(force: true).receiptError != nil, "\(value)")
      #expect(try (1...8).contains(Int(bench.texts("SELECT attempts FROM delivery_receipt")[0]) ?? 0), "\(value)")
    }
  }

  @Test("fails as often as there are attempts, whatever the number of failures before") func attempts() async throws {
    let server = try bench.script(Step(503))
    for value in Self.values where value != "NULL" {
      try bench.execute("UPDATE upload_ledger SET attempts = \(value)")
      #expect(try await bench.sync(force: true).error?.code == .serverUnavailable, "\(value)")
      #expect(try (1...9).contains(bench.state().attempts), "\(value)")
    }
    #expect(server.requests().count >= Self.values.count)
  }
}
