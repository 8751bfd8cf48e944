import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import NotificationSync

@Suite("What arrives is what was stored") struct SyncContentTests {
  static let texts = [
    "a+b&c=d", "100 %", "%00 %2B %u0041 %41%", "semi;colon", #"back\slash \n \u0000"#, #"say "hi""#, "a/b </script>",
    "😀👩‍👩‍👧‍👦", "nul\0nul", "שלום\u{202E}abc", "مرحبا بالعالم", "\u{FEFF}bom\u{2028}\u{2029}", "tab\tline\r\nend\u{1}\u{7F}",
    "", " ", "'; DROP TABLE ios_notification; --", "e\u{301}é", "[]", "{\"a\":1}", "null", "日本語",
  ]

  private enum Format: String, CaseIterable, CustomTestStringConvertible {
    case micro, microCompact, light, lightCompact, aware, awareExtended
    var testDescription: String { rawValue }

    func apply(to settings: inout SyncSettings) {
      switch self {
      case .micro, .microCompact: settings.serverType = .aware_micro
      case .light, .lightCompact: settings.serverType = .aware_light
      case .aware, .awareExtended: settings.serverType = .aware
      }
      settings.compactDataFormat = self == .microCompact || self == .lightCompact
      settings.extendedColumns = self == .awareExtended
    }
  }

  @Test("Every text comes through every format as it is", arguments: 0..<6)
  func texts(_ number: Int) async throws {
    let format = Format.allCases[number]
    let bench = try SyncBench()
    format.apply(to: &bench.settings)
    bench.settings.studyKey = "key/with ?#%+ and ä"
    bench.settings.signingKey = try SigningKey(SyncBench.signingKey, id: "k")
    bench.settings.batchSize = 8
    let receiver = try bench.receiver {
      $0.study = (7, "key/with ?#%+ and ä")
      $0.signingKeys = ["k": SyncBench.signingKey]
      $0.requiresSignature = true
    }
    try await bench.store.notifications.insert(
      Self.texts.enumerated().map { number, text in
        var data = NotificationData(timestamp: .max - Int64(number), label: text)
        (data.title, data.body, data.notificationId) = (text, text + text, text)
        (data.badge, data.interruptionLevel) = (.min, .max)
        return data
      })
    try await bench.store.silentPushes.insert(
      (Self.texts + ["no JSON {"]).map { text in
        var push = SilentPushData(timestamp: -1)
        push.payload = text
        return push
      })
    try bench.execute("UPDATE ios_notification SET label = NULL WHERE id % 3 = 0")
    let report = try await bench.sync()
    #expect(report.isComplete && report.sent == 2 * Self.texts.count + 1, "\(report)")

    for table in [UploadTable.all[0], UploadTable.all[2]] {
      let columns = try bench.synchronizer().target.format.columns(of: table)
      let names = ["timestamp", "label", columns.contains("title") ? "title" : "payload"]
      for column in Set(columns).intersection(
        names + ["body", "badge", "interruptionLevel", "recordId", "os", "deviceId"])
      {
        // In hexadecimal: a NUL ends a text for who reads it as C does.
        let expression = "typeof(\(column)) || hex(\(column))"
        let stored = try bench.texts("SELECT \(expression) FROM \(table.name) ORDER BY id")
        #expect(receiver.values(of: expression, in: table.name) == stored, "\(column) of \(table.name)")
      }
    }
    if ![.light, .lightCompact].contains(format) {
      #expect(
        receiver.values(of: "id", in: SyncBench.notifications) == (1...Self.texts.count).map(String.init))
    }
  }

  @Test("What goes over the wire verifies with an independent reading of RFC 9421; changed by one byte it does not")
  func signature() async throws {
    let bench = try SyncBench()
    bench.settings.signingKey = try SigningKey(SyncBench.signingKey, id: "phone 1")
    let receiver = try bench.receiver {
      $0.signingKeys = ["phone 1": SyncBench.signingKey]
      $0.requiresSignature = true
    }
    try bench.add(3)
    for change in Tampering.Change.allCases {
      bench.wrapper = { Tampering(inner: $0, change: change) }
      let report = try await bench.sync(force: true)
      #expect(report.sent == 0 && report.error?.code == .refused, "\(change): \(report)")
      #expect(receiver.rows(in: SyncBench.notifications) == 0, "\(change)")
    }
    #expect(try bench.state().sentThroughId == 0)
    bench.wrapper = { $0 }
    #expect(try await bench.sync().sent == 3)
    #expect(receiver.rows(in: SyncBench.notifications) == 3)
    #expect(receiver.log.last?["keyid"] as? String == "phone 1")
    // Signed anew at each attempt, of the same batch.
    let heads = receiver.rawRequests.map(\.head)
    #expect(Set(heads.flatMap { $0.split(separator: "\r\n").filter { $0.hasPrefix("Idempotency-Key") } }).count == 2)
    bench.settings.signingKey = nil
    try bench.add(1)
    #expect(try await bench.sync().error?.code == .refused)
  }

  /// Somebody between a device and its server.
  private struct Tampering: HTTPTransport {
    enum Change: CaseIterable {
      case body, path, idempotencyKey, digest, signature, contentType
    }

    let inner: any HTTPTransport
    let change: Change

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      var request = request
      func replace(_ name: String, _ change: (String) -> String) {
        for index in request.headers.indices where request.headers[index].name == name {
          request.headers[index].value = change(request.headers[index].value)
        }
      }
      switch change {
      // Still the same JSON.
      case .body: request.body.append(UInt8(ascii: " "))
      case .path: request.url.removeLast()
      case .idempotencyKey: replace("Idempotency-Key") { _ in "\"other\"" }
      case .digest: replace("Content-Digest") { _ in "sha-256=:\(Data(count: 32).base64EncodedString()):" }
      case .signature: replace("Signature") { _ in "sig1=:\(Data(count: 32).base64EncodedString()):" }
      case .contentType: replace("Content-Type") { $0 + "; charset=utf-8" }
      }
      return try await inner.send(request)
    }
  }
}
