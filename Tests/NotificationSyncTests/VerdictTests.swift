import Foundation
import Testing

@testable import NotificationSync

@Suite("A verdict") struct VerdictTests {
  private func verdict(
    _ status: Int, _ body: String, _ serverType: ServerType = .aware_micro, headers: [String: String] = [:],
    isCut: Bool = false, isDelimited: Bool = true
  ) -> Verdict {
    Verdict(
      HTTPResponse(
        status: status, headers: headers, body: Array(body.utf8), isCut: isCut, isDelimited: isDelimited),
      serverType: serverType, rowCount: 10, server: "https://h", now: 1_700_000_000)
  }

  @Test(
    "takes a JSON server's yes, which proves nothing", arguments: [ServerType.aware_micro, .aware_light],
    [
      "", "{}", #"{"status":"ok"}"#, #"{"status":"success"}"#, #"{"status":200}"#, #"{"status":201}"#,
      #"{"success":true}"#, #"{"inserted":10}"#, #" {"status":"OK", "inserted":10} "#,
    ])
  func taken(_ serverType: ServerType, _ body: String) {
    for status in [200, 201, 202, 204] { #expect(verdict(status, body, serverType) == .taken) }
  }

  @Test(
    "takes no empty answer that may be a refusal cut short", arguments: [ServerType.aware, .aware_micro, .aware_light])
  func mayBeCut(_ serverType: ServerType) {
    guard case .later(nil, let error) = verdict(200, "", serverType, isDelimited: false) else {
      Issue.record("an answer without an end was taken")
      return
    }
    #expect(error.code == .connectionFailed && error.message.contains("Content-Length"))
    // What ends by itself needs no length.
    #expect(
      verdict(200, #"{"accepted":10,"duplicates":0}"#, serverType, isDelimited: false) == .proven(duplicates: 0))
  }

  @Test(
    "takes numbers that add up for proof", arguments: [ServerType.aware, .aware_micro, .aware_light],
    [(10, 0), (0, 10), (7, 3)])
  func proven(_ serverType: ServerType, _ numbers: (Int, Int)) {
    #expect(
      verdict(200, #"{"accepted":\#(numbers.0),"duplicates":\#(numbers.1)}"#, serverType)
        == .proven(duplicates: numbers.1))
  }

  @Test(
    "refuses everything else under a 2xx",
    arguments: [
      #"[{"message":"The study key is invalid."}]"#, #"[{"message":"This study is not ongoing anymore."}]"#,
      #"[{"message":"I don't know who you are."}]"#, "Disallowed Key Characters.",
      "<html><body>A PHP Error was encountered</body></html>", "<!DOCTYPE html><title>Sign in to the network</title>",
      #"{"status":404,"message":"Not found"}"#, #"{"success":false}"#, #"{"status":false}"#, #"{"status":true}"#,
      #"{"success":1}"#, #"{"inserted":9}"#, #"{"inserted":true}"#, #"{"inserted":"10"}"#, #"{"status":"error"}"#,
      #"{"accepted":9,"duplicates":0}"#, #"{"accepted":10}"#, #"{"accepted":11,"duplicates":-1}"#,
      #"{"accepted":9223372036854775807,"duplicates":9223372036854775807}"#, #"{"accepted":true,"duplicates":9}"#,
      #"{"accepted":10,"duplicates":0,"error":"x"}"#, #"{"status":"ok","error":"full"}"#, #"{"id":5}"#, "[]", "null",
      "true", "10", "\"ok\"", "ok", " ", "\n", "{", "\u{feff}{}x", String(repeating: "[", count: 60_000),
    ])
  func refused(_ body: String) {
    for serverType in [ServerType.aware, .aware_micro, .aware_light] {
      for status in [200, 201, 204] {
        guard case .refused(let error) = verdict(status, body, serverType) else {
          Issue.record("\(serverType) \(status) took \(body.prefix(60))")
          continue
        }
        #expect(error.message.contains("answered \(status)"))
      }
    }
  }

  @Test("takes nothing but an empty answer of the PHP server for its yes")
  func php() {
    #expect(verdict(200, "", .aware) == .taken)
    for body in ["{}", #"{"status":"ok"}"#, #"{"success":true}"#, #"{"inserted":10}"#] {
      guard case .refused = verdict(200, body, .aware) else {
        Issue.record("took \(body)")
        continue
      }
    }
  }

  @Test("refuses an answer that is longer than any acknowledgement, whatever it begins with") func cut() {
    guard case .refused = verdict(200, #"{}"#, isCut: true) else {
      Issue.record("judged otherwise")
      return
    }
  }

  @Test("tells the server's words only where they are known beforehand: others may repeat what was sent")
  func words() {
    func text(_ body: String) -> String {
      guard case .refused(let error) = verdict(200, body) else { return "" }
      return error.message
    }
    #expect(text(#"[{"message":"The study key is invalid."}]"#).contains("The study key is invalid."))
    #expect(text("Disallowed Key Characters. Bob's PIN").contains("Disallowed Key Characters"))
    for body in [
      #"{"message":"duplicate entry 'Bob: your PIN is 4711'"}"#, #"[{"message":"Bob: your PIN is 4711"}]"#,
      "<html>Bob 4711</html>", "Disallowed Key Characters Bob 4711", "Bob 4711", #"{"Bob 4711":1}"#, #""Bob 4711""#,
    ] {
      #expect(!text(body).contains("Bob") && !text(body).contains("4711"))
    }
  }

  @Test("waits for a server that cannot take it now", arguments: [408, 425, 429, 500, 502, 503, 504, 599])
  func later(_ status: Int) {
    func wait(_ header: String?) -> Double? {
      let verdict = verdict(status, "", headers: header.map { ["retry-after": $0] } ?? [:])
      guard case .later(let after, _) = verdict else {
        Issue.record("\(verdict)")
        return nil
      }
      return after
    }
    #expect(wait(nil) == nil)
    #expect(wait("120") == 120)
    #expect(wait(" 0 ") == 0)
    #expect(wait("Tue, 14 Nov 2023 22:13:50 GMT") == 30)
    #expect(wait("Tue, 14 Nov 2023 22:13:10 GMT") == nil)
    #expect(wait("-5") == nil)
    #expect(wait("soon") == nil)
    #expect(wait("") == nil)
    #expect(wait("1.5") == nil)
    #expect(wait("99999999999999999999999999") == 1e9)
  }

  @Test("stops the whole sync at a redirect and at a login", arguments: [301, 302, 303, 304, 307, 308, 401, 403])
  func refusedAll(_ status: Int) {
    guard case .refusedAll(let error) = verdict(status, "") else {
      Issue.record("judged otherwise")
      return
    }
    #expect(error.code == (status < 400 ? .redirected : .refused))
  }

  @Test("says so when the clocks are apart, which makes every signature too old") func clock() {
    func text(_ date: String) -> String {
      guard case .refusedAll(let error) = verdict(401, "", headers: ["date": date]) else { return "" }
      return error.message
    }
    #expect(text("Tue, 14 Nov 2023 22:20:00 GMT").contains("more than 5 minutes apart"))
    #expect(!text("Tue, 14 Nov 2023 22:15:00 GMT").contains("more than 5 minutes apart"))
  }

  @Test("refuses for the table alone at other client errors, and asks for less at 413") func others() {
    for status in [400, 404, 405, 409, 410, 415, 422] {
      guard case .refused = verdict(status, "") else {
        Issue.record("\(status)")
        continue
      }
    }
    guard case .tooLarge = verdict(413, "") else {
      Issue.record("judged otherwise")
      return
    }
  }
}
