import EncryptedSQLite
import Foundation
import NotificationStore

/// Carries out what ``TableUpload`` decides for one table in one sync.
struct TableSync {
  /// A batch that the ledger knows of, and its bytes.
  private struct Outgoing: Sendable {
    var batch: UploadBatch
    var body: [UInt8]
    /// Whether rows after it are likely.
    var isFull: Bool
  }

  var report: SyncReport.Table
  /// Whether nothing stood in the way so far.
  var mayGoOn: Bool { report.error == nil && report.waitsUntil == nil }
  private let synchronizer: Synchronizer
  private let table: UploadTable
  private let lease: UploadLease
  private let progress: SyncProgress
  private var upload: TableUpload
  private var hasCreatedTable: Bool
  /// The most rows in a batch, as the ledger has it.
  private var rowLimit = 0

  init(
    _ synchronizer: Synchronizer, _ table: UploadTable, _ lease: UploadLease, _ progress: SyncProgress, isForced: Bool
  ) {
    self.synchronizer = synchronizer
    self.table = table
    self.lease = lease
    self.progress = progress
    report = SyncReport.Table(name: table.name)
    upload = TableUpload(synchronizer.settings, synchronizer.target, isForced: isForced)
    hasCreatedTable = !(synchronizer.settings.createsTables && synchronizer.target.serverType == .aware)
  }

  /// - Returns: `.endTable`, or `.endSync` when the other tables need not be tried.
  mutating func run() async throws -> TableUpload.Next {
    var inHand: Outgoing?
    while true {
      try Task.checkCancellation()
      let outgoing: Outgoing
      if let known = inHand {
        outgoing = known
      } else {
        guard let prepared = try await prepare() else { return .endTable }
        outgoing = prepared
      }
      // The next batch is written while this one is on its way.
      async let following =
        outgoing.isFull ? encode(.after(outgoing.batch.lastId), rowLimit) : nil
      let verdict = try await send(outgoing)
      let (change, next) = try await answered(verdict, outgoing)
      inHand = nil
      switch next {
      case .goOn:
        var next: Encoded?
        // Where it cannot be written, the answer is to be kept all the same; the next look at the store tells why.
        if case .acknowledge = change { next = try? await following }
        inHand = try await settle(change, outgoing, following: next)
      case .retry(let delay):
        _ = try await settle(change, outgoing, following: nil)
        try await Task.sleep(nanoseconds: UInt64(delay * 1e9))
      case .endTable, .endSync:
        _ = try await settle(change, outgoing, following: nil)
        return next
      }
    }
  }

  private func log(_ level: SyncLog.Level, _ text: @autoclosure () -> String) {
    synchronizer.log.write(level, "\(table.name): \(text())")
  }

  // MARK: What to send

  /// The batch to send next, written into the ledger; nil when there is none.
  private mutating func prepare() async throws -> Outgoing? {
    while true {
      let (state, requeued) = try await record { ledger in (try ledger.state(), try ledger.nextRequeued()) }
      rowLimit = upload.rowLimit(state)
      switch upload.next(state, requeued: requeued, now: synchronizer.clock.now()) {
      case .waiting(let until):
        log(.info, "an earlier failure asks to wait")
        report.waitsUntil = Date(timeIntervalSince1970: Double(until) / 1000)
        return nil
      case .resend(let batch):
        let isRequeued = batch.firstId <= state.sentThroughId
        let encoded = try await encode(
          isRequeued ? .row(batch.firstId) : .between(batch.firstId, batch.lastId), batch.rowCount,
          time: batch.envelopeTime)
        if encoded.digest == batch.digest {
          log(.verbose, "sending rows \(batch.firstId) to \(batch.lastId) again")
          return Outgoing(batch: batch, body: encoded.body, isFull: !isRequeued)
        }
        log(.verbose, "rows \(batch.firstId) to \(batch.lastId) are not as they were: planning anew")
        try await record { try $0.discard() }
      case .planRequeued(let id):
        if let outgoing = try await begin(try await encode(.row(id), 1)) { return outgoing }
      case .plan(let after, let rowLimit):
        let encoded = try await encode(.after(after), rowLimit)
        if let outgoing = try await begin(encoded) { return outgoing }
        guard !encoded.impossible.isEmpty else {
          if state.rowLimit != nil { try await record { try $0.setRowLimit(nil) } }
          return nil
        }
      }
    }
  }

  /// Writes into the ledger what is about to be sent, and which rows never will.
  private mutating func begin(_ encoded: Encoded) async throws -> Outgoing? {
    let now = synchronizer.clock.now()
    let outgoing = outgoing(encoded)
    try await record { ledger in
      for row in encoded.impossible { try ledger.quarantine(row.id, reason: row.reason, now: now) }
      if let outgoing {
        try ledger.discard()
        try ledger.begin(outgoing.batch)
      }
    }
    note(encoded)
    return outgoing
  }

  private mutating func note(_ encoded: Encoded) {
    report.setAside += encoded.impossible.count
    for row in encoded.impossible { log(.error, "row \(row.id) is set aside: \(row.reason)") }
  }

  private func outgoing(_ encoded: Encoded) -> Outgoing? {
    guard encoded.rowCount > 0 else { return nil }
    let batch = UploadBatch(
      idempotencyKey: UUID().uuidString.lowercased(), firstId: encoded.firstId, lastId: encoded.lastId,
      rowCount: encoded.rowCount, digest: encoded.digest, envelopeTime: encoded.time,
      encoderVersion: BatchFormat.encoderVersion, serverType: synchronizer.target.format.name,
      destination: synchronizer.target.destination)
    return Outgoing(batch: batch, body: encoded.body, isFull: encoded.isFull)
  }

  // MARK: Rows to bytes

  private enum Selection: Sendable {
    case after(Int64)
    case between(Int64, Int64)
    /// Also when it was set aside.
    case row(Int64)
  }

  private struct Encoded: Sendable {
    var firstId: Int64 = 0
    var lastId: Int64 = 0
    var rowCount = 0
    var body: [UInt8] = []
    var digest: [UInt8] = []
    var time: Int64 = 0
    var isFull = false
    var impossible: [(id: Int64, reason: String)] = []
  }

  private func encode(_ selection: Selection, _ rowLimit: Int, time: Int64? = nil) async throws -> Encoded {
    let columns = synchronizer.target.format.columns(of: table)
    let (sql, start, through): (String, Int64, Int64) =
      switch selection {
      case .after(let id): (UploadLedger.query(table.name, columns: columns), id, .max)
      case .between(let first, let last):
        // A batch begins with an id of 1 or more.
        (UploadLedger.query(table.name, columns: columns), max(1, first) - 1, last)
      case .row(let id): (UploadLedger.queryOfRow(table.name, columns: columns), id, id)
      }
    // What was sent once is built again whole, whatever the limit is now.
    let byteLimit = time == nil ? synchronizer.settings.byteLimit : .max
    let time = time ?? synchronizer.clock.now()
    let (format, table, deviceId) = (synchronizer.target.format, table.name, synchronizer.settings.deviceId)
    return try await synchronizer.store.database.read { connection in
      var encoded = Encoded()
      encoded.time = time
      let encoder = BatchEncoder(
        format, table: table, columns: columns, deviceId: deviceId, time: time, byteLimit: byteLimit)
      try connection.withStatement(sql) { row in
        row.bind(start, at: 1)
        row.bind(through, at: 2)
        row.bind(Int64(rowLimit), at: 3)
        var seen = 0
        var id = Int64.min
        while try row.step() {
          seen += 1
          id = try row.ascendingID(after: id)
          let outcome = encoder.add(row)
          if outcome == .full {
            encoded.isFull = true
            break
          }
          if case .impossible(let reason) = outcome {
            encoded.impossible.append((id, reason))
            continue
          }
          if encoded.rowCount == 0 { encoded.firstId = id }
          encoded.rowCount += 1
          encoded.lastId = id
        }
        // What follows a row that was set aside was sent before it.
        if case .after = selection, seen == rowLimit { encoded.isFull = true }
      }
      guard encoded.rowCount > 0 else { return encoded }
      encoded.body = encoder.finish()
      encoded.digest = PlatformCrypto.sha256(encoded.body)
      return encoded
    }
  }

  // MARK: Sending

  private mutating func send(_ outgoing: Outgoing) async throws -> Verdict {
    let target = synchronizer.target
    if !hasCreatedTable {
      let verdict = try await post(
        target.place(of: table.name, action: "create_table"), UUID().uuidString.lowercased(),
        TableCreation.body(
          deviceId: synchronizer.settings.deviceId, columns: target.format.columns(of: table))
      ) {
        TableCreation.isDone($0) ? .taken : Verdict($0, serverType: .aware, rowCount: 0, server: target.name, now: $1)
      }
      switch verdict {
      case .taken: hasCreatedTable = true
      case .proven: return .refused(TableCreation.refused)
      // That is not about the rows.
      case .tooLarge(let error): return .refused(error)
      case .later, .refused, .refusedAll: return verdict
      }
      try await record { try Self.requireOnItsWay(outgoing.batch, $0) }
    }
    return try await post(
      target.place(of: table.name), outgoing.batch.idempotencyKey, outgoing.body, digest: outgoing.batch.digest
    ) {
      Verdict(
        $0, serverType: target.serverType, rowCount: outgoing.batch.rowCount, server: target.name, now: $1)
    }
  }

  private func post(
    _ place: UploadPlace, _ idempotencyKey: String, _ body: [UInt8], digest: [UInt8]? = nil,
    judge: (_ response: HTTPResponse, _ now: Double) -> Verdict
  ) async throws -> Verdict {
    let now = Double(synchronizer.clock.now()) / 1000
    let request = SignedRequest(
      place: place, contentType: synchronizer.target.format.contentType, idempotencyKey: idempotencyKey, body: body,
      digest: digest ?? PlatformCrypto.sha256(body), tag: "aware-batch")
    do {
      let response = try await synchronizer.transport.send(
        request.request(key: synchronizer.settings.signingKey, time: Int64(now)))
      return judge(response, now)
    } catch let error as SyncError {
      guard error.code != .cancelled else { throw Synchronizer.cancelled }
      return error.verdict
    }
  }

  private mutating func answered(_ verdict: Verdict, _ outgoing: Outgoing) async throws -> (
    TableUpload.Change, TableUpload.Next
  ) {
    var failures = 0
    if case .later = verdict { failures = try await record { try $0.state().attempts } }
    if case .proven(let duplicates) = verdict { report.duplicates += duplicates }
    return upload.answered(
      verdict, outgoing.batch, failures: failures, now: synchronizer.clock.now(), chance: synchronizer.clock.chance())
  }

  // MARK: What came of it

  /// Writes into the ledger what the answer means, and the next batch with it where that is known.
  private mutating func settle(_ change: TableUpload.Change, _ outgoing: Outgoing, following: Encoded?) async throws
    -> Outgoing?
  {
    let batch = outgoing.batch
    let now = synchronizer.clock.now()
    let keepingLast = synchronizer.settings.keepLastData
    let next = following.flatMap { self.outgoing($0) }
    let removed = try await record { ledger -> Int in
      try Self.requireOnItsWay(batch, ledger)
      var removed = 0
      switch change {
      case .acknowledge(let removing):
        removed = try ledger.acknowledge(batch, removing: removing, keepingLast: keepingLast, now: now)
      case .fail(let error, let notBefore): try ledger.fail(error.message, notBefore: notBefore, now: now)
      case .shrink(let limit, _):
        try ledger.discard()
        try ledger.setRowLimit(limit)
      case .quarantine(let error):
        try ledger.discard()
        try ledger.quarantine(batch.firstId, reason: error.message, now: now)
        // It was this row: the others may go in batches as large as before.
        try ledger.setRowLimit(nil)
      }
      for row in following?.impossible ?? [] { try ledger.quarantine(row.id, reason: row.reason, now: now) }
      if let next { try ledger.begin(next.batch) }
      return removed
    }
    if let following { note(following) }
    tell(change, batch, removed)
    return next
  }

  private static func requireOnItsWay(_ batch: UploadBatch, _ ledger: UploadLedger) throws {
    guard try ledger.state().batch?.idempotencyKey == batch.idempotencyKey else {
      throw SyncError(.cancelled, "the store was wiped, or its cursor set back, during the sync: start it again")
    }
  }

  private mutating func tell(_ change: TableUpload.Change, _ batch: UploadBatch, _ removed: Int) {
    switch change {
    case .acknowledge:
      report.sent += batch.rowCount
      report.batches += 1
      report.removed += removed
      report.error = nil
      progress.add(batch.firstId...batch.lastId)
      log(.info, "\(batch.rowCount) rows were taken, \(batch.firstId) to \(batch.lastId)")
    case .fail(let error, _):
      report.error = error
      log(.error, "\(error)")
    case .shrink(let limit, let error): log(.warning, "\(error.message); going on with \(limit) rows")
    case .quarantine(let error):
      report.setAside += 1
      log(.error, "row \(batch.firstId) is set aside: \(error.message)")
    }
  }

  private func record<Result: Sendable>(
    _ body: @escaping @Sendable (UploadLedger) throws -> Result
  ) async throws -> Result {
    let (lease, name) = (lease, table.name)
    return try await synchronizer.record { connection in
      guard try lease.isHeld(connection) else {
        throw SyncError(.syncBusy, "another process took the sync over: leave it to that one")
      }
      return try body(UploadLedger(name, connection))
    }
  }
}
