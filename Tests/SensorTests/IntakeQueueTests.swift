import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  @Suite("Waiting for the store") struct Waiting {
    private let folder = TemporaryFolder()

    private func push(_ number: Int) -> IntakeQueue.Item {
      var data = SilentPushData()
      data.payload = "\(number)"
      return .push(PushRecords(silentPush: data))
    }

    @Test("Records wait up to a bound; the newest beyond it are reported as lost") func bounded() throws {
      let isShut = Locked(true)
      let reported = Locked<[AwareNotificationError.Code]>([])
      let outcomes = Locked((failed: 0, stored: 0))
      let path = folder.path("store")
      let intake = IntakeQueue {
        if isShut.snapshot { throw DatabaseError(.busy, "shut") }
        return try NotificationStore(.init(path: path, key: try Keys.raw))
      } report: { error in
        reported.withLock { $0.append(error.code) }
      }
      func add(_ numbers: Range<Int>) {
        intake.add(
          numbers.map { number in
            .init(item: push(number)) { outcome in
              outcomes.withLock {
                if case .stored = outcome { $0.stored += 1 } else { $0.failed += 1 }
              }
            }
          })
        let done = DispatchSemaphore(value: 0)
        intake.whenIdle { done.signal() }
        done.wait()
      }
      add(0..<IntakeQueue.mostWaiting)
      #expect(reported.snapshot == [.busy])
      add(IntakeQueue.mostWaiting..<IntakeQueue.mostWaiting + 3)
      #expect(reported.snapshot == [.busy, .tooManyWaiting, .busy])
      isShut.withLock { $0 = false }
      add(5000..<5001)
      #expect(outcomes.snapshot == (failed: IntakeQueue.mostWaiting + 3, stored: 1))
      let store = try NotificationStore(.init(path: path, key: try Keys.raw))
      let payloads = try store.silentPushes.page(limit: 5000).map(\.payload)
      #expect(payloads == (0..<IntakeQueue.mostWaiting).map { "\($0)" } + ["5000"])
    }

    @Test("One record that the schema refuses does not take the others with it") func constraint() throws {
      let path = folder.path("store")
      let reported = Locked<[AwareNotificationError.Code]>([])
      let stored = Locked<[Bool]>([])
      let intake = IntakeQueue {
        try NotificationStore(.init(path: path, key: try Keys.raw))
      } report: { error in
        reported.withLock { $0.append(error.code) }
      }
      var data = SilentPushData()
      data.recordId = "taken"
      intake.add(
        [push(1), .push(PushRecords(silentPush: data)), .push(PushRecords(silentPush: data)), push(2)].map { item in
          .init(item: item) { outcome in
            stored.withLock {
              if case .stored = outcome { $0.append(true) } else { $0.append(false) }
            }
          }
        })
      let done = DispatchSemaphore(value: 0)
      intake.whenIdle { done.signal() }
      done.wait()
      #expect(stored.snapshot == [true, true, false, true])
      #expect(reported.snapshot == [.constraint])
    }

    @Test("stop stores what waits, and leaves no file open") func stopStores() throws {
      let bench = Bench(key: nil)
      #expect(bench.push(["n": 1]) == .failed)
      bench.config.dbEncryptionKey = Keys.rawText
      bench.sensor.stop()
      bench.settle()
      #expect(bench.folder.names == ["store.sqlite"])
      #expect(try bench.stored { try $0.silentPushes.page(limit: 9).map(\.payload) } == [#"{"n":1}"#])
      #expect(bench.push(["n": 2]) == .newData)
      #expect(bench.folder.names == ["store.sqlite"])
    }

    @Test("Records that wait when the sensor is released are reported as lost") func lost() {
      let reported = Locked<[String]>([])
      var intake: IntakeQueue? = IntakeQueue {
        throw DatabaseError(.wrongKey, "shut")
      } report: { error in
        reported.withLock { $0.append(error.message) }
      }
      let done = DispatchSemaphore(value: 0)
      intake?.add([.init(item: push(1)) { _ in }, .init(item: push(2)) { _ in done.signal() }])
      done.wait()
      intake = nil
      for _ in 0..<2000 where reported.snapshot.count < 2 { usleep(1000) }
      #expect(reported.snapshot.last?.hasPrefix("2 records") == true)
    }

    @Test("wipe without a store is an error, not a success that left everything") func wipeNone() {
      let bench = Bench(key: nil, type: .none)
      let ends = Locked<[AwareNotificationError.Code?]>([])
      bench.sensor.wipe { error in ends.withLock { $0.append(error?.code) } }
      bench.settle()
      #expect(ends.snapshot == [.invalidConfiguration])
    }

    @Test("wipe forgets what waits, too") func wipe() throws {
      let bench = Bench(key: nil)
      #expect(bench.push(["n": 1]) == .failed)
      bench.config.dbEncryptionKey = Keys.rawText
      bench.sensor.wipe()
      #expect(bench.push(["n": 2]) == .newData)
      let payloads = try bench.stored { try $0.silentPushes.page(limit: 9).map(\.payload) }
      #expect(payloads == [#"{"n":2}"#])
    }

    @Test("A store that was rotated to another key meanwhile opens with the key that is configured then")
    func keyChanged() throws {
      let bench = Bench()
      #expect(bench.push(["n": 1]) == .newData)
      bench.sensor.stop()
      bench.settle()
      let new = "x'" + String(repeating: "5", count: 64) + "'"
      #expect(RawSQLite(bench.path, key: try Keys.raw).rotate(to: try EncryptionKey(new)))
      #expect(bench.push(["n": 2]) == .failed)
      #expect(bench.observer.errors.snapshot.map(\.code) == [.wrongKey])
      bench.config.dbEncryptionKey = new
      #expect(bench.push(["n": 3]) == .newData)
      #expect(
        try bench.stored { try $0.silentPushes.page(limit: 9).map(\.payload) } == (1...3).map { #"{"n":\#($0)}"# })
    }
  }
}
