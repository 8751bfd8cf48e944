import EncryptedSQLite
import Foundation
import TestSupport
import Testing

@testable import NotificationStore

@Suite struct NotificationStoreTests {
  private let folder = TemporaryFolder()
  private let now = UnixTime.milliseconds()

  private func open(_ change: (inout NotificationStore.Configuration) -> Void = { _ in }) throws -> NotificationStore {
    var configuration = NotificationStore.Configuration(path: folder.path("store.db"), key: try Keys.raw)
    change(&configuration)
    return try NotificationStore(configuration)
  }

  private func push(
    _ id: String, _ body: String = "text", at time: Int64? = nil, source: NotificationSource = .foreground
  ) -> PushRecords {
    PushRecords(
      payload: ["aps": ["alert": body]], identifier: id, bundle: "org.example", receivedAt: time ?? now, source: source)
  }

  // MARK: One push, one row

  @Test func twoDeliveriesOfAPushAreOneRow() throws {
    let store = try open()
    let first = try store.record(push("a", at: now, source: .extension))
    let second = try store.record(push("a", at: now + 86_400_000))
    #expect(first == .init(notificationId: 1, isMerged: false))
    #expect(second == .init(notificationId: 1, isMerged: true))
    let rows = try store.notifications.page(limit: 10)
    #expect(rows.count == 1)
    #expect(rows[0].source == .extension && rows[0].timestamp == now)
  }

  @Test func deliveriesInOneBatchMergeToo() throws {
    #expect(try open().record([push("a"), push("b"), push("a")]).map(\.isMerged) == [false, false, true])
  }

  @Test(arguments: ["response", "later", "earlier", "other text", "other id", "no id"])
  func whatIsNotTheSamePushIsItsOwnRow(difference: String) throws {
    let store = try open()
    try store.record(push(difference == "no id" ? "" : "a"))
    let other =
      switch difference {
      case "response": push("a", source: .response)
      case "later": push("a", at: now + 86_400_001)
      case "earlier": push("a", at: now - 86_400_001)
      case "other text": push("a", "another")
      case "other id": push("b")
      default: push("")
      }
    #expect(try store.record(other).isMerged == false)
    #expect(try store.notifications.count() == 2)
    // A second response is the same response.
    if difference == "response" { #expect(try store.record(other).isMerged) }
  }

  @Test func aBackgroundPushIsNeverMerged() throws {
    let store = try open()
    let both = { PushRecords(payload: ["aps": ["content-available": 1, "alert": "both"]], identifier: "a") }
    try store.record([both(), both()])
    #expect(try store.notifications.count() == 1)
    #expect(try store.silentPushes.count() == 2)
  }

  @Test func theDigestOfTheContentAsDeliveredDecides() throws {
    let store = try open()
    try store.record(push("a", "as delivered"))
    var changed = push("a", "changed by the app")
    let original = try #require(push("a", "as delivered").notification)
    original.withContentDigest { changed.notification?.deliveredDigest = [UInt8]($0) }
    #expect(try store.record(changed).isMerged)
  }

  @Test func anyNumberMayStandInATimestamp() throws {
    let store = try open()
    for time in [Int64.min, -1, .max] {
      try store.record(push("\(time)", at: time))
      #expect(try store.record(push("\(time)", at: time)).isMerged)
    }
    #expect(try store.notifications.page(limit: 5).map(\.timestamp) == [.min, -1, .max])
  }

  // MARK: Wiping and age

  @Test(arguments: [0, -1, .infinity, .nan]) func anAgeThatMakesNoSenseIsRefused(age: TimeInterval) {
    #expect(Keys.error { _ = try open { $0.maximumAge = age } } == .invalidArgument)
  }

  @Test func wipeLeavesNoRowAndNoTrace() throws {
    let store = try open()
    let sentinel = "SENTINEL-\(UUID().uuidString)"
    try store.record((0..<300).map { push("\($0)", sentinel) })
    try store.tokens.insert(NotificationTokenData())
    try store.database.write { try $0.execute("UPDATE upload_ledger SET sentThroughId = 200, idempotencyKey = 'k'") }
    let deviceId = store.deviceId
    let size = FileSystem.size(store.database.path) + FileSystem.size(store.database.path + "-wal")
    try store.wipe()
    #expect(FileSystem.size(store.database.path + "-wal") == 0)
    #expect(FileSystem.size(store.database.path) < size / 2)
    for table in NotificationStore.tables + ["delivery_receipt", "sqlite_sequence"] {
      #expect(try store.database.read { try $0.integer("SELECT count(*) FROM \(table)") } == 0)
    }
    let left = "SELECT count(*) FROM upload_ledger WHERE sentThroughId <> 0 OR idempotencyKey IS NOT NULL"
    #expect(try store.database.read { try $0.integer(left) } == 0)
    #expect(try store.record(push("new")).notificationId == 1)
    try store.close()
    let again = try open()
    #expect(again.deviceId == deviceId)
    #expect(try again.notifications.count() == 1)
  }

  @Test func maximumAgeDeletesSentRowsOnly() throws {
    let old = now - 10 * 86_400_000
    var store = try open()
    try store.record((1...2500).map { push("old \($0)", at: old) } + [push("new")])
    try store.database.write {
      try $0.execute("UPDATE upload_ledger SET sentThroughId = 2400 WHERE tableName = 'ios_notification'")
    }
    try store.close()
    store = try open { $0.maximumAge = 9 * 86_400 }
    try store.deleteExpired()
    #expect(try store.notifications.count() == 101)
    #expect(try store.notifications.page(limit: 1)[0].id == 2401)
    try store.close()
    store = try open {
      $0.maximumAge = 9 * 86_400
      $0.deletesUnsentRows = true
    }
    try store.deleteExpired()
    #expect(try store.notifications.page(limit: 10).map(\.notificationId) == ["new"])
  }

  // MARK: Opening and sharing

  @Test func theDeviceIdIsMadeOnceAndFillsEmptyOnes() throws {
    let store = try open()
    try store.record(push("a"))
    var own = NotificationTokenData()
    own.deviceId = "mine"
    try store.tokens.insert(own)
    #expect(UUID(uuidString: store.deviceId) != nil)
    #expect(try store.notifications.page(limit: 1)[0].deviceId == store.deviceId)
    #expect(try store.tokens.page(limit: 1)[0].deviceId == "mine")
  }

  @Test func filesAreForTheOwnerAlone() throws {
    let store = try open()
    try store.record(push("a"))
    _ = try store.notifications.count()
    for name in folder.names {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(name))
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(name)")
    }
    #expect(folder.names == ["store.db", "store.db-shm", "store.db-wal"])
    try store.close()
    #expect(folder.names == ["store.db"])
    #expect(Keys.error { try store.record(push("b")) } == .closed)
  }

  @Test func readingLeavesNothingBeside() throws {
    try open().close()
    let before = folder.contents
    let store = try open { $0.access = .readOnly }
    #expect(try store.notifications.count() == 0)
    #expect(Keys.error { try store.record(push("a")) } != nil)
    try store.close()
    #expect(folder.contents == before)
  }

  @Test func asynchronousCallersAreServedToo() async throws {
    let store = try open()
    try await store.record([push("a"), push("b")])
    let ids = try await store.tokens.insert([NotificationTokenData(), NotificationTokenData()])
    #expect(ids == [1, 2])
    #expect(try await store.notifications.page(limit: 5).count == 2)
    #expect(try await store.notifications.page(after: 1, limit: 5).map(\.notificationId) == ["b"])
  }

  @Test func manyThreadsOnOneStoreLoseNothing() async throws {
    let store = try open()
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for number in 0..<25 {
            _ = try? store.record(push("\(task)-\(number)"))
            _ = try? store.notifications.page(limit: 10)
          }
        }
      }
    }
    #expect(try store.notifications.count() == 200)
  }
}
