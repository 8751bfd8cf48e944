import EncryptedSQLite
import Foundation
import NotificationStore
import NotificationSync
import TestSupport
import Testing
import com_awareframework_ios_sensor_notification

@testable import AwareNotificationExtension

@Suite("Delivery receipts") struct ReceiptTests {
  private let folder = TemporaryFolder()
  private let signingKey = Array("0123456789abcdef0123456789abcdef".utf8)

  private func identity() throws -> (TestAuthority, TestAuthority.Identity) {
    let authority = try TestAuthority(in: folder)
    return (authority, try authority.leaf())
  }

  private func configure(_ config: NotificationSensor.Config, _ url: String, _ authority: TestAuthority) {
    config.deliveryReceiptURL = url
    config.tls = TLSPolicy(certificateAuthorities: authority.certificate)
    config.deviceId = "phone-1"
    config.syncSigningKey = Data(signingKey)
  }

  private func waiting(_ bench: ServiceBench) throws -> Int {
    try bench.stored { try $0.database.read { try DeliveryReceiptQueue($0).count() } }
  }

  @Test("One goes out for each push, signed and without content, and is done") func sent() throws {
    let (authority, identity) = try identity()
    var options = Receiver.Options()
    options.signingKeys = ["phone-1": signingKey]
    options.requiresSignature = true
    let receiver = try Receiver(identity, options)
    let bench = try ServiceBench { configure($0, "\(receiver.host)/receipt/", authority) }
    #expect(bench.deliver())
    #expect(receiver.receipts.count == 1)
    #expect(try waiting(bench) == 0)
    #expect(bench.errors.snapshot.isEmpty)
    let request = try #require(receiver.rawRequests.first)
    let body = try #require(try JSONSerialization.jsonObject(with: request.body) as? [String: Any])
    #expect(Set(body.keys) == ["notificationId", "recordId", "receivedAt", "deviceId"])
    #expect(body["notificationId"] as? String == "push-1" && body["deviceId"] as? String == "phone-1")
    let row = try bench.stored { try $0.notifications.page(limit: 1).first }
    #expect(body["recordId"] as? String == row?.recordId && body["receivedAt"] as? Int64 == row?.timestamp)
    #expect(!request.head.contains("Ada") && request.body.range(of: Data("Ada".utf8)) == nil)
  }

  @Test(
    "A server that refuses, hangs, redirects or is not there keeps no content back, and the next sync sends the receipt",
    arguments: ["500", "hang", "redirect", "closed"])
  func postponed(_ fault: String) async throws {
    let (authority, identity) = try identity()
    let steps: [ScriptedServer.Step] =
      switch fault {
      case "500": [.init(500)]
      case "hang": [.hang]
      case "redirect": [.init(307, "", headers: ["Location": "https://localhost:1/"])]
      default: [.close(.afterReading)]
      }
    let server = try ScriptedServer(identity, .init(steps))
    let bench = try ServiceBench { configure($0, "https://localhost:\(server.port)/receipt/", authority) }
    #expect(bench.deliver(within: 15))
    #expect(bench.handed.snapshot.count == 1 && bench.errors.snapshot.count == 1)
    #expect(try waiting(bench) == 1)
    let receiver = try Receiver(identity)
    var settings = SyncSettings(host: receiver.host, studyKey: "k", deviceId: "phone-1")
    settings.tls = TLSPolicy(certificateAuthorities: authority.certificate)
    settings.deliveryReceiptURL = "\(receiver.host)/receipt/"
    let store = try NotificationStore(.init(path: bench.path, key: try Keys.raw))
    let report = try await Synchronizer(store, settings).sync(force: true)
    #expect(report.receipts == 1 && report.isComplete)
    #expect(receiver.receipts.count == 1 && receiver.rows(in: "ios_notification") == 1)
    try store.close()
    #expect(try waiting(bench) == 0)
  }

  @Test("While the store is shut the receipt goes out all the same, and waits in the spool in case it did not")
  func spooled() async throws {
    let (authority, identity) = try identity()
    var options = Receiver.Options()
    options.signingKeys = ["phone-1": signingKey]
    let receiver = try Receiver(identity, options)
    let bench = try ServiceBench(hasStore: false) { configure($0, "\(receiver.host)/receipt/", authority) }
    #expect(bench.deliver())
    #expect(receiver.receipts.count == 1 && bench.spooled == 1)
    #expect(try waiting(bench) == 1)
    #expect(try bench.identifiers == ["push-1"])
  }

  @Test("A URL that cannot be, or that is not https, sends nothing and is told") func unusable() throws {
    for url in ["ftp://h/x", "https://user:s3cret@h/", "https://h/?q=1"] {
      let bench = try ServiceBench { $0.deliveryReceiptURL = url }
      #expect(bench.deliver())
      #expect(bench.errors.snapshot.map(\.code) == [.invalidSyncSettings])
      #expect(!bench.errors.snapshot[0].message.contains("s3cret"))
      #expect(try bench.identifiers == ["push-1"])
    }
  }
}
