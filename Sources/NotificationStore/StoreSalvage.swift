import EncryptedSQLite
import Foundation

/// Reads what a damaged store still gives into a new one.
public struct StoreSalvage {
  private let source: DamagedDatabase
  private let target: Connection
  /// The tables that the source still says the place of.
  private let found: Set<String>
  private let migrator: SchemaMigrator

  /// Makes a new store at `path`, under the same key, of what the store at `damaged` still gives. Nobody may have the
  /// damaged one open, this process neither; it is only read. The new one appears complete, or not at all.
  ///
  /// It takes room for both beside `path` for a while.
  ///
  /// - Parameters:
  ///   - settings: what the damaged store is written with in place of the defaults, which the new one has.
  ///   - isInterrupted: asked time and again; true ends the work with `cancelled`.
  /// - Throws: `busy` when another process has the damaged store open, or changed it meanwhile; `wrongKey` when the key does not fit or the first page is damaged, without which nothing can be read;
  ///   `corrupt` when none of the store's tables can be found; `alreadyExists`; `schemaTooNew`; `diskFull`, and what
  ///   opening a file throws. No new store is made then.
  public static func salvage(
    _ damaged: String, into path: String, key: EncryptionKey, settings: Cipher.Settings = .init(),
    migrator: SchemaMigrator = SchemaMigrator(), isInterrupted: @escaping () -> Bool = { false }
  ) throws -> SalvageReport {
    let (damaged, path) = (try FileSystem.absolute(damaged), try FileSystem.absolute(path))
    try Connection.checkFile(damaged, for: .readOnly)
    // Before all is read in vain.
    guard access(path, F_OK) != 0 else { throw FileSystem.error("make", path, EEXIST) }
    return try NewFile.make(path) { aside in
      var report: SalvageReport?
      try NewFile.withFileAside(beside: path) { copy in
        let source = try naming(damaged) {
          try DamagedDatabase(damaged, key: key, copy: copy, settings: settings, isInterrupted: isInterrupted)
        }
        defer { try? source.connection.close() }
        let hasReadableHeader = source.connection.cipher.hasReadableHeader
        try Database.build(aside, key: key, hasReadableHeader: hasReadableHeader) { target in
          // A journal in memory would keep a copy of every page.
          try target.execute("PRAGMA journal_mode = OFF")
          report = try naming(damaged) {
            try StoreSalvage(source, target, migrator).run(damaged, path)
          }
        }
        try source.requireUnchanged()
      }
      let store = try Connection.open(aside, key: key, options: .init(access: .readOnly))
      let faults = try store.integrityFaults(limit: 1, isInterrupted: isInterrupted)
      try store.close()
      guard faults.isEmpty, let report else {
        throw DatabaseError(.corrupt, "the new store was not made, for it did not come out sound: check the disk")
      }
      return report
    }
  }

  /// Errors of the copy are those of the file that it is a copy of.
  private static func naming<Result>(_ damaged: String, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as DatabaseError where error.isOfKey {
      let hint = error.code == .invalidRawKey ? " (it resembles a raw key x'…' and is not exactly one)" : ""
      throw DatabaseError(
        error.code,
        "nothing can be salvaged of \(damaged): either the key is another one\(hint), or the first page is damaged, without "
          + "which no page can be read; check the key, or restore a backup", sqliteCode: error.sqliteCode)
    }
  }

  private init(_ source: DamagedDatabase, _ target: Connection, _ migrator: SchemaMigrator) throws {
    self.source = source
    self.target = target
    self.migrator = migrator
    var found: Set<String> = []
    _ = try source.forEachRow("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0") { row in
      found.insert(row.string(at: 0))
    }
    self.found = found
  }

  private func run(_ damaged: String, _ path: String) throws -> SalvageReport {
    let recorded = Int(try source.connection.integer("PRAGMA user_version") ?? 0)
    guard recorded <= migrator.currentVersion else {
      throw DatabaseError(
        .schemaTooNew,
        "\(damaged) has jsonVersion \(recorded) and this program knows up to \(migrator.currentVersion): use a newer one"
      )
    }
    guard recorded >= 0, NotificationStore.tables.contains(where: found.contains) else {
      throw DatabaseError(
        .corrupt, "\(damaged) is damaged where its tables are listed, or is no store of AWARE's: restore a backup")
    }
    // A file with the public sensor's tables and no version is version 1.
    let version = max(1, recorded)
    try SchemaMigrator(Array(migrator.migrations[..<version])).migrate(target)
    let hasLedger = version >= 2
    var tables: [SalvageReport.Table] = []
    var lastIds: [String: Int64] = [:]
    for table in NotificationStore.tables + (hasLedger ? ["delivery_receipt"] : []) {
      try target.writeTransaction {
        let (report, last) = try copy(table, hasIndex: hasLedger)
        tables.append(report)
        lastIds[table] = last
      }
    }
    let lostCursors = hasLedger ? try target.writeTransaction { try copyLedger(lastIds) } : []
    if hasLedger {
      // What the damaged store said and cannot be is not saved.
      try target.writeTransaction {
        _ = try UploadLedger.discardImpossible(on: target)
        _ = try DeliveryReceiptQueue(target).discardImpossible(latest: .max)
      }
    }
    let hasAllProperties = hasLedger ? try target.writeTransaction { try copyProperties() } : true
    try migrator.migrate(target)
    return SalvageReport(
      source: damaged, path: path, tables: tables, lostCursors: lostCursors,
      deviceId: try deviceId(isExpected: hasLedger), hasAllProperties: hasAllProperties, log: try log())
  }

  private func log() throws -> SalvageReport.Log {
    let log = try WriteAheadLog(of: source.connection.path)
    if let loss = log.loss { return .damaged(lostCommits: loss.commits) }
    return log.committedFrames > 0 ? .read : .none
  }

  // MARK: Tables with ids

  private func copy(_ table: String, hasIndex: Bool) throws -> (SalvageReport.Table, Int64) {
    let cursor = try savedCursor(of: table)
    let counter = try sourceInteger("SELECT max(seq) FROM sqlite_sequence WHERE name = ?", .text(table))
    let lastId = [counter, cursor].compactMap { $0 }.max()
    let columns = try commonColumns(of: table)
    guard found.contains(table), columns.first == "id" else {
      let lost = SalvageReport.Table(name: table, saved: 0, missing: [], isExact: false, isFound: false)
      try setCounter(of: table, to: lastId ?? 0)
      return (lost, lastId ?? 0)
    }
    let index = table == "delivery_receipt" ? "sqlite_autoindex_delivery_receipt_1" : "\(table)_recordId"
    var salvage = TableSalvage(
      table, columns: columns, index: hasIndex ? index : nil, source: source, target: target, lastId: lastId)
    let report = try salvage.run()
    let last = max(lastId ?? 0, try salvage.highestId())
    try setCounter(of: table, to: last)
    return (report, last)
  }

  /// An id that was given out once is not given out again, though its row is lost.
  private func setCounter(of table: String, to last: Int64) throws {
    try target.run("DELETE FROM sqlite_sequence WHERE name = ?", .text(table))
    try target.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", .text(table), .integer(last))
  }

  /// The columns that both have, in the order of the new store.
  private func commonColumns(of table: String) throws -> [String] {
    var old: Set<String> = []
    var columns: [String] = []
    _ = try source.forEachRow("PRAGMA table_info(\(table))") { old.insert($0.string(at: 1)) }
    try target.forEachRow("PRAGMA table_info(\(table))") { row in
      if old.contains(row.string(at: 1)) { columns.append(row.string(at: 1)) }
    }
    return columns
  }

  private func sourceInteger(_ sql: String, _ value: SQLValue) throws -> Int64? {
    var number: Int64?
    let isWhole = try source.forEachRow(sql, value) { row in
      if row.kind(at: 0) == .integer { number = row.int64(at: 0) }
    }
    return isWhole ? number.flatMap { $0 >= 0 ? $0 : nil } : nil
  }

  // MARK: Ledger and properties

  private func savedCursor(of table: String) throws -> Int64? {
    try sourceInteger("SELECT sentThroughId FROM upload_ledger WHERE tableName = ?", .text(table))
  }

  /// - Returns: the tables whose row was lost.
  private func copyLedger(_ lastIds: [String: Int64]) throws -> [String] {
    let columns = try commonColumns(of: "upload_ledger")
    // Without what was set aside a cursor would say too much: such rows would count as sent.
    guard columns.count > 1, try copyQuarantine() else { return NotificationStore.tables }
    return try NotificationStore.tables.filter { table in
      var isSaved = false
      let names = columns.joined(separator: ", ")
      // The row as a whole, and only one that makes sense of the records.
      let query =
        "SELECT \(names) FROM upload_ledger WHERE tableName = ?1 AND typeof(sentThroughId) = 'integer' AND sentThroughId >= 0 AND ifnull(lastId, 0) <= ?2"
      let parameters = Array(repeating: "?", count: columns.count).joined(separator: ", ")
      _ = try source.forEachRow(query, .text(table), .integer(lastIds[table] ?? 0)) { row in
        try target.withStatement("REPLACE INTO upload_ledger (\(names)) VALUES (\(parameters))") { insert in
          insert.bind(columns: columns.count, of: row)
          try insert.run()
        }
        isSaved = true
      }
      return !isSaved
    }
  }

  /// - Returns: whether all of it was saved.
  private func copyQuarantine() throws -> Bool {
    let isWhole = try source.forEachRow(
      "SELECT tableName, rowId, reason, since, isRequeued FROM upload_quarantine"
    ) { row in
      try target.withStatement("INSERT OR IGNORE INTO upload_quarantine VALUES (?, ?, ?, ?, ?)") { insert in
        insert.bind(columns: 5, of: row)
        try insert.run()
      }
    }
    if !isWhole { try target.execute("DELETE FROM upload_quarantine") }
    return isWhole
  }

  /// - Returns: whether all were saved.
  private func copyProperties() throws -> Bool {
    for order in ["ASC", "DESC"] {
      let isWhole = try source.forEachRow("SELECT name, value FROM store_property ORDER BY name \(order)") { row in
        try target.run(
          "INSERT OR IGNORE INTO store_property (name, value) VALUES (?, ?)", .text(row.string(at: 0)),
          .text(row.string(at: 1)))
      }
      if isWhole { return true }
    }
    return false
  }

  /// - Parameter isExpected: whether the damaged store had one of its own.
  private func deviceId(isExpected: Bool) throws -> SalvageReport.DeviceID {
    if try !NotificationStore.deviceId(target, .readOnly).isEmpty { return .saved }
    let newest = NotificationStore.tables.map { "SELECT timestamp, deviceId FROM \($0) WHERE deviceId <> ''" }
      .joined(separator: " UNION ALL ")
    let known = try target.text("SELECT deviceId FROM (\(newest)) ORDER BY timestamp DESC LIMIT 1")
    _ = try NotificationStore.deviceId(target, .readWrite, new: known)
    if !isExpected { return .saved }
    return known == nil ? .new : .fromRecords
  }
}
