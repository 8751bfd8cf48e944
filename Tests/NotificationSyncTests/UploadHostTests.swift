import Testing

@testable import NotificationSync

@Suite("The host that records are sent to") struct UploadHostTests {
  @Test(
    "is put right as the public sensor does it",
    arguments: [
      ("study.example.org", "study.example.org", ""), ("http://study.example.org/", "study.example.org", ""),
      ("https://Study.Example.org:443//", "study.example.org", ""), ("HTTPS://h:8443/a/b/", "h:8443", "/a/b"),
      (" h.example ", "h.example", ""), ("127.0.0.1:9", "127.0.0.1:9", ""), ("[::1]:8443", "[::1]:8443", ""),
      ("[::1]", "[::1]", ""), ("h:", "h", ""), ("a_b-c.d", "a_b-c.d", ""),
    ])
  func normalised(_ text: String, _ authority: String, _ path: String) throws {
    let host = try UploadHost(text, serverType: .aware_micro)
    #expect(host.authority == authority && host.basePath == path)
  }

  @Test("loses a PHP server's /index.php", arguments: ["h/index.php", "https://h/index.php/", "h"]) func php(
    _ text: String
  )
    throws
  {
    #expect(try UploadHost(text, serverType: .aware).basePath == "")
    #expect(try UploadHost("h/index.php", serverType: .aware_micro).basePath == "/index.php")
  }

  @Test(
    "is refused when it is none, or would leak or lose something, without being repeated",
    arguments: [
      "", " ", "/", "https://", "ftp://h", "file:///etc/passwd", "https://bob:s3cret@h", "h?key=s3cret", "h#s3cret",
      "h:0", "h:65536", "h:s3cret", "h\\s3cret", "s3cret\"", "exämple.org", "h/s3 cret\u{7f}", "[::1", "h:1:2",
      "s3cret|h", "h/\u{e4}",
    ])
  func refused(_ text: String) {
    do {
      let host = try UploadHost(text, serverType: .aware_micro)
      Issue.record("\(text) gave \(host)")
    } catch {
      #expect((error as? SyncError)?.code == .invalidSyncSettings)
      #expect(!"\(error)".contains("s3cret"))
    }
  }

  @Test("makes the paths of the three kinds of servers") func paths() throws {
    func path(_ serverType: ServerType, _ key: String) throws -> String {
      var settings = SyncSettings(host: "h/base", serverType: serverType, studyNumber: 12, studyKey: key, deviceId: "d")
      settings.tls = TLSPolicy()
      return try UploadTarget(settings).place(of: "ios_notification").url
    }
    #expect(try path(.aware_micro, "k") == "https://h/base/api/12/k/insert/")
    #expect(try path(.aware_micro, "../?#%é") == "https://h/base/api/12/..%2F%3F%23%25%C3%A9/insert/")
    #expect(try path(.aware_light, "k") == "https://h/base/insert/")
    #expect(try path(.aware, "k") == "https://h/base/index.php/webservice/index/12/k/ios_notification/insert")
  }

  @Test("settings that cannot be are refused before anything is sent")
  func settings() {
    func code(_ change: (inout SyncSettings) -> Void) -> SyncError.Code? {
      var settings = SyncSettings(host: "h", deviceId: "d")
      change(&settings)
      do {
        try settings.check()
        return nil
      } catch { return (error as? SyncError)?.code }
    }
    #expect(code { _ in } == nil)
    #expect(code { $0.batchSize = 0 } == .invalidSyncSettings)
    #expect(code { $0.batchSize = 1_000_000 } == .invalidSyncSettings)
    #expect(code { $0.serverType = .none } == .invalidSyncSettings)
    #expect(code { $0.deviceId = "" } == .invalidSyncSettings)
    #expect(code { $0.deliveryReceiptURL = "https://user:words@h/receipt/" } == .invalidSyncSettings)
    #expect(code { $0.deliveryReceiptURL = "" } == nil)
    #expect(code { ($0.serverType, $0.compactDataFormat) = (.aware, true) } == .invalidSyncSettings)
    var settings = SyncSettings(host: "h", studyKey: "s3cret", deviceId: "d")
    settings.signingKey = try? SigningKey(Array("s3cret-s3cret-s3cret-s3cret-s3cret".utf8), id: "k")
    var dumped = ""
    dump(settings, to: &dumped)
    #expect(settings.signingKey != nil && !"\(settings)\(String(reflecting: settings))\(dumped)".contains("s3cret"))
  }
}
