import Foundation
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  @Suite("Secrets stay secret") struct Secrecy {
    private let key = "correct horse battery staple"
    private let studyKey = "study-secret"
    private let content = "a private message"
    private let signingKey = "a signing key of more than 32 bytes"

    private func expectNoSecret(_ text: String, _ what: String) {
      for secret in [key, studyKey, content, signingKey, "pass:word"] { #expect(!text.contains(secret), "\(what)") }
    }

    private func make() -> Bench {
      Bench(key: key) { config in
        config.studyKey = studyKey
        config.dbHost = "https://user:pass:word@host.example/?key=study-secret"
        config.debug = true
        config.syncSigningKey = Data(signingKey.utf8)
        config.tls.proxy = "http://user:pass:word@proxy.example:8080"
      }
    }

    @Test("dump, print, reflection and interpolation of sensor and configurations") func shown() {
      let bench = make()
      _ = bench.push(["text": content])
      bench.sensor.syncConfig = DbSyncConfig().apply { $0.studyKey = studyKey }
      let values: [Any] = [
        bench.sensor!, bench.config, bench.sensor.CONFIG, bench.sensor.syncConfig as Any, [bench.config],
        ["config": bench.sensor!],
      ]
      for value in values {
        var dumped = ""
        dump(value, to: &dumped)
        expectNoSecret(dumped, "dump")
        expectNoSecret("\(value)", "interpolation")
        expectNoSecret(String(reflecting: value), "reflection")
        expectNoSecret(everything(value), "mirrors")
      }
      #expect("\(bench.config)".contains("dbEncryptionKey: <redacted>"))
      #expect("\(bench.config)".contains("host.example"))
    }

    @Test(
      "A host is shown without what may be a secret",
      arguments: [
        ("https://user:secret@host.example/index/1/studykey?a=b#c", "https://host.example"),
        ("user:secret@host.example", "host.example"), ("host.example:8443/1/studykey", "host.example:8443"),
        ("not a host", "<not a host>"), ("", "<not a host>"),
      ])
    func hosts(_ each: (String, String)) {
      #expect(HostText.withoutCredentials(each.0) == each.1)
    }

    /// All that mirrors lead to.
    private func everything(_ value: Any, depth: Int = 0) -> String {
      guard depth < 8 else { return "" }
      var mirror: Mirror? = Mirror(reflecting: value)
      var text = "\(value)"
      while let current = mirror {
        for child in current.children { text += " \(child.label ?? "") " + everything(child.value, depth: depth + 1) }
        mirror = current.superclassMirror
      }
      return text
    }

    @Test("The log, with everything switched on") func logs() throws {
      let bench = make()
      bench.sensor.start()
      _ = bench.push(["aware_command": content, "text": content])
      bench.sensor.handle(.init(identifier: content, title: content, body: content))
      bench.sensor.set(label: content)
      bench.sensor.setDeviceToken(Data(content.utf8))
      bench.sensor.sync(force: true)
      bench.sensor.stop()
      bench.settle()
      bench.config.dbEncryptionKey = "x'\(key)'"
      _ = bench.push(["text": content])
      bench.config.dbEncryptionKey = key + key
      _ = bench.push(["text": content])
      #expect(bench.observer.errors.snapshot.map(\.code) == [.invalidRawKey, .wrongKey])
      #expect(!bench.logged.snapshot.isEmpty)
      expectNoSecret(bench.logged.snapshot.joined(separator: "\n"), "log")
      expectNoSecret("\(bench.observer.errors.snapshot)", "errors")
    }

    @Test("The log of syncs at its fullest, good ones and bad ones") func uploads() throws {
      let server = try UploadBench.server(
        .init(200, content), .init(401, content), .init(413), .acknowledge, .init(503, content), .acknowledge)
      let upload = try UploadBench(server, rows: 0) { config in
        config.dbEncryptionKey = key
        config.studyKey = studyKey
        config.syncSigningKey = Data(signingKey.utf8)
        config.debug = true
        config.sensorObserver = nil
      }
      upload.upload.debug = true
      upload.upload.debugLevel = .trace
      for _ in 0..<3 { _ = upload.bench.push(["text": content]) }
      var errors: [Any] = []
      for host in [upload.config.dbHost, "user:pass:word@localhost", "localhost/\(studyKey)?key=\(studyKey)"] {
        upload.config.dbHost = host
        for _ in 0..<3 { upload.completion { $0.sync(force: true) } }
      }
      errors += upload.bench.broadcasts(.actionAwareNotificationSyncCompletion).compactMap { $0.userInfo?["error"] }
      #expect(errors.count > 5 && server.requests().count > 3)
      #expect(upload.bench.logged.snapshot.contains { $0.hasPrefix("sync: ios_silent_push") })
      expectNoSecret(upload.bench.logged.snapshot.joined(separator: "\n"), "log")
      expectNoSecret("\(errors)", "errors")
      // The control: it was sent.
      #expect(server.requests().contains { $0.path.contains(studyKey) })
    }

    @Test("A program that uses the sensor writes nothing of it to its own output") func system() throws {
      let folder = TemporaryFolder()
      let keyFile = folder.write("key", key)
      let result = try Program.run(Program.helper, ["sensor", folder.path("s.sqlite"), keyFile, "3", content])
      #expect(result.status == 0 && result.output == "newData\nnewData\nnewData\nok\n")
      expectNoSecret(result.output + result.errors, "output")
      #expect(result.errors.contains("Aware::Notification"))
      for (name, data) in folder.contents where name != "key" {
        expectNoSecret(String(decoding: data, as: UTF8.self), name)
      }
    }
  }
}
