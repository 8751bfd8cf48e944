import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  /// The completion handler exactly once, with `.failed` when a row that should be kept is not durable.
  @Suite("Completion") struct Completion {
    @Test("A stored push: .newData", arguments: ["sync", "restart", "no such command", ""])
    func stored(_ command: String) throws {
      let bench = Bench()
      #expect(bench.push(["aware_command": command]) == .newData)
      #expect(try bench.stored { try $0.silentPushes.count() } == 1)
    }

    @Test("NONE: .newData, and observers and broadcasts get the push all the same") func none() {
      let bench = Bench(key: nil, type: .none)
      #expect(bench.push(["aware_command": "restart"]) == .newData)
      #expect(bench.observer.calls.snapshot == ["silent", "command"])
      #expect(bench.observer.silentPushes.snapshot[0].id == nil)
      #expect(bench.folder.names == [])
    }

    @Test("A sensor that was stopped stores it all the same") func stopped() throws {
      let bench = Bench()
      bench.sensor.start()
      bench.sensor.stop()
      #expect(bench.push() == .newData)
      #expect(try bench.stored { try $0.silentPushes.count() } == 1)
    }

    @Test("stop called meanwhile loses nothing") func stopMeanwhile() throws {
      let bench = Bench()
      let results = Locked<[UIBackgroundFetchResult]>([])
      for _ in 0..<50 {
        bench.sensor.handleSilentPush(userInfo: [:]) { result in results.withLock { $0.append(result) } }
        bench.sensor.stop()
      }
      bench.settle()
      #expect(results.snapshot == Array(repeating: .newData, count: 50))
      #expect(try bench.stored { try $0.silentPushes.count() } == 50)
    }

    @Test("A sensor released meanwhile loses nothing") func releasedMeanwhile() throws {
      let bench = Bench()
      let done = DispatchSemaphore(value: 0)
      let results = Locked<[UIBackgroundFetchResult]>([])
      bench.sensor.handleSilentPush(userInfo: [:]) { result in
        results.withLock { $0.append(result) }
        done.signal()
      }
      bench.dropSensor()
      #expect(done.wait(timeout: .now() + 30) == .success)
      #expect(results.snapshot == [.newData])
    }

    @Test("A wrong key: .failed, and the store is as it was") func wrongKey() throws {
      let bench = Bench(key: "another key")
      _ = try NotificationStore.create(bench.path, key: try Keys.raw)
      let before = bench.folder.contents
      #expect(bench.push(["aware_command": "restart"]) == .failed)
      #expect(bench.observer.errors.snapshot.map(\.code) == [.wrongKey])
      #expect(bench.observer.commands.snapshot == [.restart])
      #expect(bench.folder.contents == before)
    }

    @Test(
      "A store that another process has locked: with a passphrase .failed in time, and the row comes once it is free; with a raw key it is sealed, and safe",
      arguments: ["correct horse", Keys.rawText])
    func locked(_ key: String) throws {
      let bench = Bench(key: key)
      let keyFile = bench.folder.write("key", key)
      _ = try NotificationStore.create(bench.path, key: try EncryptionKey(key))
      let holder = try Program.start(
        Program.helper, ["hold", bench.path, keyFile, "DELETE FROM ios_silent_push"])
      #expect(holder.waitForLine("holding"))
      let began = DispatchTime.now()
      #expect(bench.push(["n": 1]) == (key == Keys.rawText ? .newData : .failed))
      // Not a measure of speed: the contract's bound.
      #expect(DispatchTime.now() < began + 25)
      #expect(bench.observer.errors.snapshot.map(\.code) == [.busy])
      #expect(bench.observer.silentPushes.snapshot.map(\.id) == [nil])
      holder.closeInput()
      #expect(holder.finish().status == 0)
      #expect(bench.push(["n": 2]) == .newData)
      #expect(
        try bench.stored { try $0.silentPushes.page(limit: 9).map(\.payload) } == [#"{"n":1}"#, #"{"n":2}"#])
    }

    @Test("When the store takes too long, the handler does not wait for it, and is not called again")
    func deadline() throws {
      let bench = Bench()
      bench.sensor.completionLimit = 0.2
      let keyFile = bench.folder.write("key", Keys.rawText)
      _ = try NotificationStore.create(bench.path, key: try Keys.raw)
      let holder = try Program.start(
        Program.helper, ["hold", bench.path, keyFile, "DELETE FROM ios_silent_push"])
      #expect(holder.waitForLine("holding"))
      let results = Locked<[UIBackgroundFetchResult]>([])
      let done = DispatchSemaphore(value: 0)
      bench.sensor.handleSilentPush(userInfo: [:]) { result in
        results.withLock { $0.append(result) }
        done.signal()
      }
      #expect(done.wait(timeout: .now() + 30) == .success)
      #expect(results.snapshot == [.failed])
      holder.closeInput()
      #expect(holder.finish().status == 0)
      #expect(try bench.stored { try $0.silentPushes.count() } == 1)
      #expect(results.snapshot == [.failed])
    }

    @Test("A missing folder: .failed") func missingFolder() {
      let bench = Bench { $0.dbPath = "/nonexistent/folder/store.sqlite" }
      #expect(bench.push() == .failed)
      #expect(bench.observer.errors.snapshot.map(\.code) == [.notFound])
    }

    @Test("A full disk: .failed, and the row comes once there is room", .enabled(if: SmallDisk.isAvailable))
    func fullDisk() throws {
      let disk = try SmallDisk(size: "400k")
      let bench = Bench { $0.dbPath = disk.path("store.sqlite") }
      #expect(bench.push(["n": 1]) == .newData)
      let filler = disk.path("filler")
      #expect(FileManager.default.createFile(atPath: filler, contents: nil))
      let file = try #require(FileHandle(forWritingAtPath: filler))
      while (try? file.write(contentsOf: [UInt8](repeating: 0, count: 1024))) != nil {}
      try file.close()
      let big = String(repeating: "x", count: 100_000)
      #expect(bench.push(["n": big]) == .failed)
      #expect(bench.observer.errors.snapshot.map(\.code) == [.diskFull])
      try FileManager.default.removeItem(atPath: filler)
      #expect(bench.push(["n": 3]) == .newData)
      #expect(try bench.stored { try $0.silentPushes.page(limit: 9).map(\.payload.utf8.count) } == [7, 100_008, 7])
      bench.sensor.stop()
      bench.settle()
    }
  }
}
