import EncryptedSQLite
import Foundation
import NotificationStore
import NotificationSync
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  /// What else happens while a sync waits for a server that does not answer.
  @Suite("Uploads and the rest") struct UploadInterruption {
    @Test("A push that commands a sync is completed after it, once, with .newData") func commanded() throws {
      let server = try UploadBench.server(.acknowledge)
      let upload = try UploadBench(server, rows: 0)
      #expect(upload.bench.push(["aware_command": "sync"]) == .newData)
      #expect(server.requests().count == 1)
      #expect(
        upload.bench.names == [
          ".SILENT_PUSH_RECEIVED", ".COMMAND_SYNC", ".SYNC", ".SENSOR_SYNC_COMPLETION",
        ])
      #expect(upload.completions.snapshot == [.init(isComplete: true, code: nil)])
      #expect(try upload.pending == 0)
    }

    @Test("Where the server hangs, the push is completed in time, once, and the sync goes on") func inTime() throws {
      let server = try UploadBench.server(.acknowledge.with { $0.delay = 2 }, .acknowledge)
      let upload = try UploadBench(server, rows: 0)
      upload.sensor.completionLimit = 0.3
      #expect(upload.bench.push(["aware_command": "sync"]) == .newData)
      #expect(upload.completions.snapshot.isEmpty)
      #expect(eventually { upload.completions.snapshot.count == 1 })
      #expect(upload.completions.snapshot == [.init(isComplete: true, code: nil)])
    }

    @Test("A sync that fails does not fail the push that commanded it") func failedSync() throws {
      let server = try UploadBench.server(.init(200, "no"))
      let upload = try UploadBench(server, rows: 0)
      #expect(upload.bench.push(["aware_command": "sync"]) == .newData)
      #expect(upload.completions.snapshot == [.init(isComplete: false, code: .refused)])
    }

    /// The bounds below are far from the minute after which a request that hangs is given up.
    @Test("stop() ends a sync that hangs") func stopped() throws {
      let (server, upload) = try hanging()
      #expect(upload.completion { $0.stop() } == .init(isComplete: false, code: .cancelled))
      #expect(upload.bench.names.filter { $0 == ".SENSOR_STOP" }.count == 1)
      #expect(try upload.pending == 3)
      server.stop()
      try expectAllArrive(upload, 3)
    }

    @Test("wipe() during a sync that hangs leaves nothing") func wiped() throws {
      let (_, upload) = try hanging()
      let errors = Locked<[AwareNotificationError?]>([])
      #expect(
        upload.completion { sensor in sensor.wipe { error in errors.withLock { $0.append(error) } } }?.code
          == .cancelled)
      #expect(eventually { errors.snapshot.count == 1 } && errors.snapshot[0] == nil)
      #expect(try upload.payloads.isEmpty && upload.pending == 0)
    }

    @Test("The key is rotated during a sync that hangs, in place and by a copy", arguments: [false, true])
    func rotated(_ isSalted: Bool) throws {
      let (_, upload) = try hanging()
      let text = isSalted ? Keys.saltedText : "x'" + String(repeating: "5", count: 64) + "'"
      let key = try EncryptionKey(text)
      let results = Locked<[AwareNotificationError.Code?]>([])
      #expect(
        upload.completion { sensor in
          sensor.rotateEncryptionKey(to: key) { result in results.withLock { $0.append(result.failure?.code) } }
        }?.code == .cancelled)
      #expect(eventually { results.snapshot.count == 1 } && results.snapshot == [nil])
      upload.config.dbEncryptionKey = text
      #expect(try upload.pending == 3)
      try expectAllArrive(upload, 3)
    }

    @Test("A backup is made while a sync hangs, which goes on") func backedUp() throws {
      let (_, upload) = try hanging()
      let counts = Locked<[Int]>([])
      upload.sensor.backup(to: upload.bench.folder.path("copy")) { result in
        counts.withLock { $0.append(Int((try? result.get())?.counts["ios_silent_push"] ?? -1)) }
      }
      #expect(eventually { counts.snapshot == [3] })
      #expect(upload.completions.snapshot.isEmpty)
      #expect(upload.completion { $0.stop() }?.code == .cancelled)
      try expectAllArrive(upload, 3)
    }

    @Test("A backup is restored during a sync that hangs") func restored() throws {
      let (_, upload) = try hanging {
        $0.sensor.backup(to: $0.bench.folder.path("copy"))
        $0.bench.settle()
        _ = $0.bench.push(["n": "after the backup"])
      }
      let results = Locked<[AwareNotificationError.Code?]>([])
      #expect(
        upload.completion { sensor in
          sensor.restore(from: upload.bench.folder.path("copy")) { result in
            results.withLock { $0.append(result.failure?.code) }
          }
        }?.code == .cancelled)
      #expect(eventually { results.snapshot.count == 1 } && results.snapshot == [nil])
      #expect(try upload.payloads.count == 3)
      try expectAllArrive(upload, 3)
    }

    @Test("Pushes are stored while a sync hangs") func recorded() throws {
      let (_, upload) = try hanging()
      #expect(upload.bench.push(["n": 4]) == .newData)
      #expect(upload.completion { $0.stop() }?.code == .cancelled)
      try expectAllArrive(upload, 4)
    }

    private func hanging(_ before: (UploadBench) -> Void = { _ in }) throws -> (ScriptedServer, UploadBench) {
      let server = try UploadBench.server(.hang)
      let upload = try UploadBench(server)
      before(upload)
      #expect(upload.hang(at: server))
      return (server, upload)
    }

    /// The next sync, to a server that answers, brings each row once.
    private func expectAllArrive(_ upload: UploadBench, _ count: Int) throws {
      let receiver = try UploadBench.receiver()
      upload.config.dbHost = receiver.host
      #expect(upload.completion { $0.sync(force: true) } == .init(isComplete: true, code: nil))
      #expect(receiver.rows(in: "ios_silent_push") == count)
      #expect(receiver.distinctRecordIds(in: "ios_silent_push") == count)
      #expect(upload.bench.observer.errors.snapshot.isEmpty)
    }
  }
}
