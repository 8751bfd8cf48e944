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

  @Test func aMergedPushIsHandedOutAsItsRow() throws {
    let store = try open()
    let first = try store.recordedRows(of: [push("a", at: now, source: .extension)])
    #expect(try first.map(\.notification) == store.notifications.page(limit: 1))
    let later = try store.recordedRows(of: [push("a", at: now + 5), push("b")])
    #expect(try later.map(\.notification) == store.notifications.page(limit: 9))
    #expect(later[0] == first[0] && later[0].notification?.source == .extension)
  }

  // MARK: Silent pushes

  private func command(_ id: String, at time: Int64? = nil, _ name: String = "sync") -> PushRecords {
    PushRecords(payload: ["aware_command": name], identifier: id, receivedAt: time ?? now, label: "label \(id)")
  }

  @Test func aSilentPushWithAnIdentifierIsStoredOnce() throws {
    let store = try open()
    let others = [command("b"), command("a", at: now + 1), command("a", "restart")]
    let intakes = try store.record([command("a"), command("a")] + others + [command("a")])
    #expect(intakes.map(\.silentPushId) == [1, 1, 2, 3, 4, 1])
    #expect(intakes.map(\.isRepeated) == [false, true, false, false, false, true])
    let rows = try store.silentPushes.page(limit: 9)
    #expect(rows.map(\.pushId) == ["a", "b", "a", "a"])
    #expect(rows[0].recordId == command("a").silentPush?.recordId && Set(rows.map(\.recordId)).count == 4)
    // Derived from the three alone, in a form that is frozen.
    let frozen = PushRecords(payload: ["k": 1], identifier: "id", receivedAt: 1000).silentPush
    #expect(frozen?.recordId == "b1dad8dd-fc7e-82b1-acb0-717ab9293940")
    // What is handed out is the row.
    var other = command("a")
    other.silentPush?.label = "other"
    #expect(try store.recordedRows(of: [other])[0].silentPush == rows[0])
  }

  @Test func silentPushesWithoutAnIdentifierAreARowEach() throws {
    let store = try open()
    #expect(try store.record([command(""), command("")]).map(\.silentPushId) == [1, 2])
    #expect(try store.silentPushes.page(limit: 9).map(\.pushId) == ["", ""])
  }

  @Test func insertReturnsTheRow() throws {
    let store = try open()
    var (notification, token, push) = (NotificationData(), NotificationTokenData(), SilentPushData())
    (notification.recordId, token.recordId, push.recordId) = ("", "", "")
    #expect(try store.notifications.insert(notification) == store.notifications.page(limit: 1)[0])
    #expect(try store.tokens.insert(token) == store.tokens.page(limit: 1)[0])
    #expect(try store.silentPushes.insert(push) == store.silentPushes.page(limit: 1)[0])
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

  @Test func aBackgroundPushThatIsReceivedAgainIsARow() throws {
    let store = try open()
    let both = { (time: Int64) in
      PushRecords(
        payload: ["aps": ["content-available": 1, "alert": "both"]], identifier: "a", receivedAt: time)
    }
    try store.record([both(now), both(now + 1)])
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
