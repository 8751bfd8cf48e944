import EncryptedSQLite
import Foundation

/// Deletes the rows that are older than a store's maximum age, after the store was opened and then once an hour.
///
/// The work is done in turns of a bounded number of rows, each on the writer's queue: what waits there is done between
/// two turns. It ends when the store is closed or released.
package final class Expiry: Sendable {
  /// Where the time comes from, and when the next turn takes place.
  package struct Schedule: Sendable {
    /// In Unix milliseconds.
    var now: @Sendable () -> Int64
    /// Calls the work after that many seconds.
    var perform: @Sendable (_ work: @escaping @Sendable () -> Void, _ delay: TimeInterval) -> Void

    package init(
      now: @escaping @Sendable () -> Int64 = UnixTime.milliseconds,
      perform: @escaping @Sendable (@escaping @Sendable () -> Void, TimeInterval) -> Void = Self.onQueue
    ) {
      self.now = now
      self.perform = perform
    }

    private static let queue = DispatchQueue(
      label: "NotificationStore.expiry", qos: .utility, attributes: .concurrent)

    /// By the wall clock: a device sleeps most of the hour.
    @Sendable package static func onQueue(_ work: @escaping @Sendable () -> Void, delay: TimeInterval) {
      queue.asyncAfter(wallDeadline: .now() + delay, execute: work)
    }
  }

  /// How far a run has come.
  struct Position: Sendable {
    /// Of ``NotificationStore/tables``.
    var table = 0
    /// Rows up to this id are done.
    var id: Int64 = 0
    var deleted = 0

    var isAtEnd: Bool { table == NotificationStore.tables.count }
  }

  /// In rows that are looked at.
  package static let turnSize = 1000
  /// In seconds.
  package static let interval: TimeInterval = 3600

  private let database: Database
  private let maximumAge: TimeInterval
  private let deletesUnsentRows: Bool
  private let schedule: Schedule
  private let report: @Sendable (Result<Int, DatabaseError>) -> Void

  /// - Returns: nil for a store without a maximum age.
  init?(_ database: Database, _ configuration: NotificationStore.Configuration) {
    guard let maximumAge = configuration.maximumAge else { return nil }
    self.database = database
    self.maximumAge = maximumAge
    deletesUnsentRows = configuration.deletesUnsentRows
    schedule = configuration.expirySchedule
    report = configuration.reportExpiry
  }

  func start() { schedule.perform({ [weak self] in self?.run() }, 0) }

  /// Goes through all rows that may be deleted, now and without a schedule.
  ///
  /// - Returns: how many were deleted.
  func deleteAll(now: Int64) throws -> Int {
    var position = Position()
    while !position.isAtEnd { position = try turn(position, now) }
    return position.deleted
  }

  private func run() {
    let now = schedule.now()
    attempt {
      guard try begin(now) else { return wait() }
      next(Position(), now)
    }
  }

  private func next(_ position: Position, _ now: Int64) {
    schedule.perform(
      { [weak self] in
        self?.attempt {
          guard let self else { return }
          let position = try self.turn(position, now)
          guard position.isAtEnd else { return self.next(position, now) }
          self.report(.success(position.deleted))
          self.wait()
        }
      }, 0)
  }

  private func wait() { schedule.perform({ [weak self] in self?.run() }, Self.interval) }

  private func attempt(_ work: () throws -> Void) {
    do {
      try work()
    } catch {
      let error = error as? DatabaseError ?? DatabaseError(.database, "old records were not deleted: \(error)")
      if error.code == .closed { return }
      report(.failure(error))
      wait()
    }
  }

  // MARK: The store

  /// Whether the last run began an hour ago or more, by whichever connection; this one has begun then.
  ///
  /// Noted in the store, since an app may open it for each push.
  private func begin(_ now: Int64) throws -> Bool {
    try database.withWriter { connection in
      let isDue = {
        let last = try connection.text("SELECT value FROM store_property WHERE name = 'lastExpiry'").flatMap {
          Int64($0)
        }
        guard let last else { return true }
        // A clock that was set back does not keep rows.
        let (age, isOverflow) = now.subtractingReportingOverflow(last)
        return isOverflow || !(0..<Int64(Self.interval * 1000)).contains(age)
      }
      guard try isDue() else { return false }
      return try connection.writeTransaction {
        guard try isDue() else { return false }
        try connection.run(
          "INSERT OR REPLACE INTO store_property (name, value) VALUES ('lastExpiry', ?)", .text("\(now)"))
        return true
      }
    }
  }

  /// Deletes what has expired among the next rows.
  ///
  /// - Returns: where to go on.
  private func turn(_ position: Position, _ now: Int64) throws -> Position {
    let table = NotificationStore.tables[position.table]
    let oldest = now - Int64(maximumAge * 1000)
    var next = position
    next.deleted += try database.withWriter { connection in
      var expired: [Int64] = []
      var count = 0
      // Outside a transaction: nobody waits for a turn that finds nothing.
      try connection.forEachRow(
        Self.query(table, deletesUnsentRows), .integer(position.id), .integer(Int64(Self.turnSize))
      ) { row in
        count += 1
        next.id = row.int64(at: 0)
        if row.int64(at: 1) < oldest { expired.append(next.id) }
      }
      if count < Self.turnSize {
        next.table += 1
        next.id = 0
      }
      guard !expired.isEmpty else { return 0 }
      return try connection.writeTransaction {
        try expired.reduce(0) { deleted, id in
          try connection.run(Self.deletion(table, deletesUnsentRows), .integer(id), .integer(oldest))
          return deleted + connection.changes
        }
      }
    }
    return next
  }

  /// The query of a turn: id and time of at most `?2` rows above the id `?1`, by their ids.
  ///
  /// Rows arrive about in the order of their times, and need no index for that; a turn is bounded all the same where they
  /// do not.
  package static func query(_ table: String, _ deletesUnsentRows: Bool) -> String {
    "SELECT id, timestamp FROM \(table) WHERE id > ?1 AND \(condition(table, deletesUnsentRows)) ORDER BY id LIMIT ?2"
  }

  /// Deletes the row `?1`, if it still is as the query found it, and older than `?2`.
  package static func deletion(_ table: String, _ deletesUnsentRows: Bool) -> String {
    "DELETE FROM \(table) WHERE id = ?1 AND timestamp < ?2 AND \(condition(table, deletesUnsentRows))"
  }

  private static func condition(_ table: String, _ deletesUnsentRows: Bool) -> String {
    guard !deletesUnsentRows else { return "1" }
    return "id <= \(UploadLedger.cursor(table)) AND \(UploadLedger.isNotSetAside(table))"
  }
}
