import EncryptedSQLite
import TestSupport
import Testing

@testable import NotificationStore

/// Two deliveries of a push merge within a day of each other, on whichever days they are.
@Suite("The window in which deliveries merge") struct MergeWindowTests {
  private static let day: Int64 = 86_400_000
  /// Midnight UTC of 30 November 2025, of 1 January 1970, of the days around it, and of a day before the year 1900.
  private static let midnights = [20_422, 0, 1, -1, -30_000].map { $0 * day }

  private let folder = TemporaryFolder()

  private func open() throws -> NotificationStore {
    try NotificationStore(.init(path: folder.path("store.db"), key: Keys.raw))
  }

  private func push(at time: Int64, _ id: String = "a", _ body: String = "text") -> PushRecords {
    PushRecords(payload: ["aps": ["alert": body]], identifier: id, receivedAt: time)
  }

  @Test("reaches into the day before and the day after, to the millisecond", arguments: midnights)
  func edges(midnight: Int64) throws {
    let store = try open()
    var number = 0
    for offset in [-1, 0, 1, Self.day / 2, Self.day - 1] {
      for distance in [0, 1, Self.day / 2, Self.day - 1, Self.day, Self.day + 1] {
        // With the clock going on, and with the clock set back.
        for second in [midnight + offset + distance, midnight + offset - distance] {
          number += 1
          try store.record(push(at: midnight + offset, "\(number)"))
          let isMerged = try store.record(push(at: second, "\(number)")).isMerged
          #expect(isMerged == (distance <= Self.day), "\(midnight) \(offset) \(second)")
        }
      }
    }
  }

  @Test("keeps the first row when the clock was set back over midnight")
  func clockSetBack() throws {
    let store = try open()
    let time = Self.midnights[0] + 1000
    try store.record(push(at: time))
    #expect(try store.record(push(at: time - 3_600_000)).isMerged)
    #expect(try store.record(push(at: time - Self.day)).isMerged)
    #expect(try store.notifications.page(limit: 5).map(\.timestamp) == [time])
  }

  @Test("is looked up by all columns of an index that begins with the day")
  func plan() throws {
    let store = try open()
    try store.record(push(at: 1))
    let plan = try store.database.read { connection in
      try connection.firstRow("EXPLAIN QUERY PLAN " + NotificationStore.samePushSQL) { $0.string(at: 3) }
    }
    #expect(plan?.contains("INDEX ios_notification_push (<expr>=? AND contentDigest=? AND notificationId=?)") == true)
  }

  @Test("Tokens and silent pushes are found by their time", arguments: ["ios_notification_token", "ios_silent_push"])
  func times(table: String) throws {
    let plan = try open().database.read { connection in
      try connection.firstRow("EXPLAIN QUERY PLAN SELECT id FROM \(table) WHERE timestamp < 5") { $0.string(at: 3) }
    }
    #expect(plan?.contains("INDEX \(table)_timestamp (timestamp<?)") == true)
  }
}
