import EncryptedSQLite
import Foundation
import NotificationSync
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  @Suite("Uploads") struct Uploading {
    @Test("A sync sends each row once, and tells so in order on the callback queue") func once() throws {
      let receiver = try UploadBench.receiver()
      let upload = try UploadBench(receiver, rows: 25)
      upload.upload.batchSize = 10
      let names = upload.bench.names
      let onQueue = DispatchSpecificKey<Bool>()
      upload.bench.callbacks.setSpecific(key: onQueue, value: true)
      let strangers = Locked(0)
      let listener = BroadcastListener([
        .actionAwareNotificationSyncCompletion: { _ in
          if DispatchQueue.getSpecific(key: onQueue) == nil { strangers.withLock { $0 += 1 } }
        }
      ])
      let handler = upload.upload.completionHandler
      upload.upload.completionHandler = { status, error in
        if DispatchQueue.getSpecific(key: onQueue) == nil { strangers.withLock { $0 += 1 } }
        handler?(status, error)
      }

      #expect(upload.completion { $0.sync(force: true) } == .init(isComplete: true, code: nil))
      #expect(Array(upload.bench.names.dropFirst(names.count)) == [".SYNC", ".SENSOR_SYNC_COMPLETION"])
      let told = upload.bench.broadcasts(.actionAwareNotificationSyncCompletion)[0].userInfo ?? [:]
      #expect(told["status"] as? Bool == true && told["error"] == nil && told.count == 1)
      #expect(strangers.snapshot == 0)
      #expect(receiver.rows(in: "ios_silent_push") == 25)
      #expect(receiver.distinctRecordIds(in: "ios_silent_push") == 25)
      #expect(receiver.batches == 3)
      #expect(upload.completions.snapshot.count == 1)
      let progress = upload.progress.snapshot
      #expect(progress == progress.sorted() && progress.count == 3)
      #expect(progress.filter { $0 == 1 }.count == 1 && progress.last == 1)

      #expect(upload.completion() == .init(isComplete: true, code: nil))
      #expect(receiver.rawRequests.count == 3)
      withExtendedLifetime(listener) {}
    }

    @Test("What the ledger says and cannot be is reported once, and everything is sent") func ledger() throws {
      let receiver = try UploadBench.receiver()
      let upload = try UploadBench(receiver)
      let raw = RawSQLite(upload.bench.path, key: try Keys.raw)
      #expect(raw.execute("UPDATE upload_ledger SET sentThroughId = -9223372036854775808") == 0)
      raw.close()
      upload.completion {
        $0.sync()
        $0.sync(force: true)
      }
      #expect(eventually { upload.completions.snapshot.count == 2 })
      #expect(upload.completions.snapshot.allSatisfy { $0 == .init(isComplete: true, code: nil) })
      #expect(upload.bench.observer.errors.snapshot.map(\.code) == [.ledgerChanged, .ledgerChanged, .ledgerChanged])
      #expect(upload.bench.observer.errors.snapshot[2].message.hasPrefix("ios_silent_push: the cursor"))
      #expect(receiver.distinctRecordIds(in: "ios_silent_push") == 3)
    }

    @Test("A sync that runs is joined: one set of requests, a completion for each call") func joined() throws {
      let server = try UploadBench.server(.acknowledge.with { $0.delay = 0.5 }, .acknowledge)
      let upload = try UploadBench(server)
      upload.completion {
        $0.sync()
        $0.sync(force: true)
      }
      #expect(eventually { upload.completions.snapshot.count == 2 })
      #expect(upload.completions.snapshot.allSatisfy { $0 == .init(isComplete: true, code: nil) })
      #expect(server.requests().count == 1)
      #expect(upload.progress.snapshot == [1])
      #expect(upload.bench.broadcasts(.actionAwareNotificationSync).count == 2)
      #expect(upload.bench.broadcasts(.actionAwareNotificationSyncCompletion).count == 2)
    }

    @Test("With a dispatchQueue the handlers are called there") func dispatchQueue() throws {
      let server = try UploadBench.server(.acknowledge)
      let upload = try UploadBench(server)
      let queue = DispatchQueue(label: "handlers")
      let onQueue = DispatchSpecificKey<Bool>()
      queue.setSpecific(key: onQueue, value: true)
      upload.upload.dispatchQueue = queue
      let places = Locked<[Bool]>([])
      let (completion, progress) = (upload.upload.completionHandler, upload.upload.progressHandler)
      upload.upload.completionHandler = { status, error in
        places.withLock { $0.append(DispatchQueue.getSpecific(key: onQueue) == true) }
        completion?(status, error)
      }
      upload.upload.progressHandler = { done, error in
        places.withLock { $0.append(DispatchQueue.getSpecific(key: onQueue) == true) }
        progress?(done, error)
      }
      upload.completion()
      #expect(places.snapshot == [true, true])
    }

    @Test("AwareDBSyncRequest syncs while the sensor is enabled; so does another's SYNC broadcast, always")
    func requested() throws {
      let server = try UploadBench.server(.acknowledge)
      let upload = try UploadBench(server, rows: 1)
      let center = NotificationCenter.default
      upload.sensor.enable()
      #expect(
        upload.completion { _ in center.post(name: .Aware.dbSyncRequest, object: nil) }
          == .init(isComplete: true, code: nil))
      #expect(server.requests().count == 1)

      upload.sensor.disable()
      center.post(name: .Aware.dbSyncRequest, object: nil)
      upload.bench.settle()
      #expect(upload.bench.broadcasts(.actionAwareNotificationSync).count == 1)

      _ = upload.bench.push()
      #expect(
        upload.completion { _ in center.post(name: .actionAwareNotificationSync, object: nil) }
          == .init(isComplete: true, code: nil))
      #expect(server.requests().count == 2)
    }

    @Test("syncReport gives the numbers, and throws what stood in the way from the start") func report() async throws {
      let receiver = try UploadBench.receiver()
      let upload = try UploadBench(receiver)
      let report = try await upload.sensor.syncReport()
      #expect(report.sent == 3 && report.pending == 0 && report.isComplete)
      #expect(
        report.tables.map(\.name).sorted() == ["ios_notification", "ios_notification_token", "ios_silent_push"])
      #expect(upload.completions.snapshot == [.init(isComplete: true, code: nil)])
      upload.config.dbHost = nil
      await #expect { _ = try await upload.sensor.syncReport() } throws: {
        ($0 as? AwareNotificationError)?.code == .noHost
      }
    }

    @Test(
      "Settings that cannot be: the error, nothing is sent, the rows stay",
      arguments: [
        ("noHost", AwareNotificationError.Code.noHost), ("emptyHost", .noHost), ("badHost", .invalidSyncSettings),
        ("ftp", .invalidSyncSettings), ("shortKey", .invalidSyncSettings), ("batchSize", .invalidSyncSettings),
        ("proxy", .invalidSyncSettings), ("pin", .invalidSyncSettings), ("noType", .invalidSyncSettings),
        ("compactForm", .invalidSyncSettings),
      ])
    func settings(_ what: String, _ code: AwareNotificationError.Code) throws {
      let server = try UploadBench.server(.acknowledge)
      let upload = try UploadBench(server)
      switch what {
      case "noHost": upload.config.dbHost = nil
      case "emptyHost": upload.config.dbHost = ""
      case "badHost": upload.config.dbHost = "not a host/ü"
      case "ftp": upload.config.dbHost = "ftp://localhost:\(server.port)"
      case "shortKey": upload.config.syncSigningKey = Data(count: 31)
      case "batchSize": upload.upload.batchSize = 0
      case "proxy": upload.config.tls.proxy = "socks5://localhost"
      case "pin": upload.config.tls.publicKeyPins = ["sha256//AAAA"]
      case "noType": upload.upload.serverType = .none
      default:
        upload.upload.serverType = .aware
        upload.upload.compactDataFormat = true
      }
      #expect(upload.completion() == .init(isComplete: false, code: code))
      let told = upload.bench.broadcasts(.actionAwareNotificationSyncCompletion)[0].userInfo ?? [:]
      #expect(told["status"] as? Bool == false && (told["error"] as? AwareNotificationError)?.code == code)
      #expect(server.connections == 0)
      #expect(try upload.pending == 3)
    }

    @Test("A host with http:// and a slash at its end is used over https") func http() throws {
      let receiver = try UploadBench.receiver()
      let upload = try UploadBench(host: "http://localhost:\(receiver.port)/")
      #expect(upload.completion() == .init(isComplete: true, code: nil))
      #expect(receiver.rows(in: "ios_silent_push") == 3)
    }

    @Test("A server that is not trusted gets nothing") func untrusted() throws {
      let receiver = try UploadBench.receiver()
      let upload = try UploadBench(receiver) { $0.tls.certificateAuthorities = nil }
      #expect(upload.completion() == .init(isComplete: false, code: .untrustedServer))
      #expect(receiver.rawRequests.isEmpty)
      #expect(try upload.pending == 3)
    }

    @Test("A refused batch stays, and no progress reaches 1") func refused() throws {
      let server = try UploadBench.server(.init(200, #"{"error":"no"}"#))
      let upload = try UploadBench(server)
      #expect(upload.completion() == .init(isComplete: false, code: .refused))
      #expect(try upload.pending == 3)
      #expect(!upload.progress.snapshot.contains(1))
    }

    @Test("While an earlier failure asks to wait, sync() says so, and sync(force: true) sends") func waits() throws {
      let server = try UploadBench.server(.init(503, headers: ["Retry-After": "60"]), .acknowledge)
      let upload = try UploadBench(server)
      #expect(upload.completion() == .init(isComplete: false, code: .serverUnavailable))
      #expect(server.requests().count == 1)
      #expect(upload.completion() == .init(isComplete: false, code: .serverUnavailable))
      #expect(server.requests().count == 1)
      #expect(upload.completion { $0.sync(force: true) } == .init(isComplete: true, code: nil))
      #expect(server.requests().count == 2)
      #expect(try upload.pending == 0)
    }

    @Test("A batch is signed under the device id, or under the id that is set", arguments: [nil, "phone 7"])
    func signed(_ id: String?) throws {
      var options = Receiver.Options()
      let secret = [UInt8]((0..<32).map { $0 })
      options.signingKeys = [id ?? "device-7": secret]
      options.requiresSignature = true
      let receiver = try UploadBench.receiver(options)
      let upload = try UploadBench(receiver) { config in
        config.deviceId = "device-7"
        config.syncSigningKey = Data(secret)
        config.syncSigningKeyId = id
      }
      #expect(upload.completion() == .init(isComplete: true, code: nil))
      #expect(receiver.rows(in: "ios_silent_push") == 3)
      // Another key, and the same rows are refused.
      _ = upload.bench.push()
      upload.config.syncSigningKey = Data(repeating: 7, count: 32)
      #expect(upload.completion() == .init(isComplete: false, code: .refused))
      #expect(receiver.rows(in: "ios_silent_push") == 3)
    }

    @Test("Pins and a client's certificate come from the configuration") func identity() throws {
      let (authority, identity) = try TestAuthority.shared
      let client = try authority.client(name: "phone-7")
      var settings = ScriptedServer.Settings([.acknowledge])
      settings.clientAuthority = authority.certificate
      let server = try ScriptedServer(identity, settings)
      let upload = try UploadBench(server) { config in
        config.tls.clientCertificate = client.chain
        config.tls.clientKey = client.key
        config.tls.publicKeyPins = [client.pin]
      }
      #expect(upload.completion() == .init(isComplete: false, code: .untrustedServer))
      #expect(server.requests().isEmpty)
      upload.config.tls.publicKeyPins = [client.pin, identity.pin]
      #expect(upload.completion { $0.sync(force: true) } == .init(isComplete: true, code: nil))
      #expect(server.handshakes.last?.client == "phone-7")
    }
  }
}
