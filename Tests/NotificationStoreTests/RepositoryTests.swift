import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@Suite struct RepositoryTests {
  private let folder = TemporaryFolder()

  private func open() throws -> NotificationStore {
    try NotificationStore(.init(path: folder.path("store.db"), key: Keys.raw))
  }

  private func sample(_ number: Int) -> NotificationData {
    var data = NotificationData(timestamp: 1_764_460_861_000 + Int64(number), label: "label \(number)")
    data.notificationId = "id \(number)"
    data.title = "Título \(number) 🥾"
    data.body = number.isMultiple(of: 2) ? "" : "nul \0 inside"
    data.badge = number
    data.interruptionLevel = 3
    data.source = .response
    data.deviceId = "device"
    return data
  }

  @Test func rowsComeBackAsTheyWere() throws {
    let store = try open()
    let stored = try store.notifications.insert(sample(1))
    #expect(stored.id == 1)
    let many = (2...10).map(sample)
    #expect(try store.notifications.insert(many) == Array(2...10))
    var expected = (1...10).map(sample)
    let rows = try store.notifications.page(limit: 100)
    for index in expected.indices {
      expected[index].id = Int64(index + 1)
      expected[index].recordId = index == 0 ? stored.recordId : many[index - 1].recordId
    }
    #expect(rows == expected)
  }

  @Test func silentPushesAndTokensComeBackAsTheyWere() throws {
    let store = try open()
    var push = SilentPushData(label: "l")
    push.payload = #"{"a":"🥾"}"#
    push.pushId = "p-1"
    push.deviceId = "d"
    push = try store.silentPushes.insert(push)
    #expect(try store.silentPushes.page(limit: 1) == [push])
    var token = NotificationTokenData()
    token.token = "00ff"
    token.deviceId = "d"
    token = try store.tokens.insert(token)
    #expect(try store.tokens.page(limit: 1) == [token])
  }

  @Test func pagesAndCursorGoThroughAllRowsInOrder() throws {
    let store = try open()
    try store.notifications.insert((1...1205).map(sample))
    #expect(try store.notifications.page(after: 1200, limit: 3).map { $0.id ?? 0 } == [1201, 1202, 1203])
    #expect(try store.notifications.page(after: 1205, limit: 3).isEmpty)
    for limit in [0, -1, Int.min] { #expect(try store.notifications.page(limit: limit).isEmpty) }
    var cursor = store.notifications.cursor(pageSize: 100)
    var ids: [Int64] = []
    while let record = try cursor.next() { ids.append(record.id ?? 0) }
    #expect(ids == Array(1...1205))
    #expect(try cursor.next() == nil)
    var rest = store.notifications.cursor(after: 1000, pageSize: 5)
    #expect(try rest.next()?.id == 1001)
  }

  @Test func deletingPassesOverIdsWithoutARow() throws {
    let store = try open()
    try store.notifications.insert((1...10).map(sample))
    #expect(try store.notifications.delete(ids: [2, 4, 99]) == 2)
    #expect(try store.notifications.count() == 8)
    #expect(try store.notifications.delete(ids: [Int64]()) == 0)
  }

  @Test func insertingManyIsAllOrNothing() throws {
    let store = try open()
    let first = sample(1)
    var rows = (2...50).map(sample)
    rows.append(first)
    rows.append(first)
    #expect(Keys.error { try store.notifications.insert(rows) } == .constraint)
    #expect(try store.notifications.count() == 0)
    #expect(try store.notifications.insert([NotificationData]()).isEmpty)
  }

  @Test func anEmptyRecordIdIsFilled() throws {
    let store = try open()
    var data = sample(1)
    data.recordId = ""
    try store.notifications.insert([data, data])
    let ids = try store.notifications.page(limit: 2).map(\.recordId)
    #expect(ids[0] != ids[1])
    #expect(ids.allSatisfy { UUID(uuidString: $0) != nil && $0 == $0.lowercased() })
  }

  /// Another sensor's type, with a migration of its own.
  struct Steps: StoredRecord, Equatable {
    static let databaseTableName = "steps"
    static let columns = ["count"]
    var id: Int64?
    var count: Int
    init(count: Int) { self.count = count }
    init(row: inout RowReader) {
      id = row.int64()
      count = row.int()
    }
    func bind(to row: inout RowBinder) { row.append(count) }
  }

  @Test func anotherSensorsTypeIsStoredByConforming() throws {
    let step = Migration(version: 3, name: "steps", sql: "CREATE TABLE steps (id INTEGER PRIMARY KEY, count INTEGER);")
    let store = try NotificationStore(
      .init(path: folder.path("store.db"), key: Keys.raw, migrator: SchemaMigrator(Migration.all + [step])))
    let steps = Repository<Steps>(store.database, deviceId: "")
    try steps.insert([Steps(count: 10), Steps(count: 20)])
    #expect(try steps.page(limit: 5).map(\.count) == [10, 20])
  }
}
