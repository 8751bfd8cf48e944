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

    /// Takes what a queue wants to be called for later, with its delay.
    private final class Timer: Sendable {
      let due = Locked<[(delay: TimeInterval, retry: @Sendable () -> Void)]>([])

      @Sendable func schedule(_ delay: TimeInterval, _ retry: @escaping @Sendable () -> Void) {
        due.withLock { $0.append((delay, retry)) }
      }

      /// Calls what is due, and returns its delay; nil when nothing is.
      func fire(_ intake: IntakeQueue?) -> TimeInterval? {
        let next = due.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        next?.retry()
        intake.map { settle($0) }
        return next?.delay
      }
    }

    private static func settle(_ intake: IntakeQueue) {
      let done = DispatchSemaphore(value: 0)
      // Twice, for a retry asks for its turn.
      intake.whenIdle { intake.whenIdle { done.signal() } }
      done.wait()
    }

    private static let delays: [TimeInterval] = [5, 10, 20, 40, 80, 160, 300, 300]

    @Test(
      "A store that is busy is tried again after 5 s, twice that, … up to 5 minutes, until it can be used; then no more"
    )
    func retries() throws {
      let isShut = Locked(true)
      let reports = Locked(0)
      let path = folder.path("store")
      let timer = Timer()
      let intake = IntakeQueue(
        open: {
          if isShut.snapshot { throw DatabaseError(.busy, "shut") }
          return try NotificationStore(.init(path: path, key: try Keys.raw))
        }, schedule: timer.schedule, report: { _ in reports.withLock { $0 += 1 } })
      intake.add([.init(item: push(1)) { _ in }])
      Self.settle(intake)
      for delay in Self.delays { #expect(timer.fire(intake) == delay) }
      #expect(reports.snapshot == 1)
      isShut.withLock { $0 = false }
      #expect(timer.fire(intake) == 300)
      #expect(timer.fire(intake) == nil)
      let store = try NotificationStore(.init(path: path, key: try Keys.raw))
      #expect(try store.silentPushes.count() == 1)
      // The next failure begins with the shortest delay.
      isShut.withLock { $0 = true }
      intake.close()
      intake.add([.init(item: push(2)) { _ in }])
      Self.settle(intake)
      #expect(timer.fire(intake) == 5)
    }

    @Test("What stays in the spool is tried again with the same delays, until it is imported; a push does not hurry it")
    func spoolRetries() throws {
      let path = folder.path("store")
      let timer = Timer()
      let intake = IntakeQueue(
        open: { try NotificationStore(.init(path: path, key: try Keys.raw)) }, schedule: timer.schedule,
        report: { _ in })
      let spool = NotificationSpool(besideStore: path)
      #expect(mkfifo(spool.path, 0o600) == 0)
      intake.prepare()
      Self.settle(intake)
      for delay in Self.delays {
        intake.add([.init(item: push(1)) { _ in }])
        Self.settle(intake)
        #expect(timer.due.snapshot.count == 1)
        #expect(timer.fire(intake) == delay)
      }
      unlink(spool.path)
      #expect(try spool.append([[.notification(NotificationData(timestamp: 5))]], key: Keys.raw) == 1)
      #expect(timer.fire(intake) == 300)
      #expect(timer.fire(intake) == nil)
      let store = try NotificationStore(.init(path: path, key: try Keys.raw))
      #expect(try store.notifications.count() == 1 && store.silentPushes.count() == Self.delays.count)
    }

    @Test("A queue that is released ends, closes its store, and is tried no more") func released() throws {
      let path = folder.path("store")
      let timer = Timer()
      let opened = Locked(0)
      var intake: IntakeQueue? = IntakeQueue(
        open: {
          opened.withLock { $0 += 1 }
          return try NotificationStore(.init(path: path, key: try Keys.raw))
        }, schedule: timer.schedule, report: { _ in })
      weak let weakIntake = intake
      #expect(mkfifo(path + ".spool", 0o600) == 0)
      intake?.prepare()
      intake.map { Self.settle($0) }
      #expect(timer.due.snapshot.count == 1)
      intake = nil
      unlink(path + ".spool")
      // Its last job may be on its way out, and its store is closed after it.
      for _ in 0..<20_000 where weakIntake != nil || folder.names != ["store"] { usleep(1000) }
      #expect(weakIntake == nil && folder.names == ["store"])
      #expect(timer.fire(nil) == 5 && timer.fire(nil) == nil)
      #expect(opened.snapshot == 1)
    }

    @Test("With a spool, what it keeps is safe, and what it does not waits in memory; a push too large keeps none back")
    func spooled() throws {
      let path = folder.path("store")
      let timer = Timer()
      let isShut = Locked(true)
      let outcomes = Locked<[String]>([])
      let reported = Locked<[AwareNotificationError.Code]>([])
      let kept = Locked<[[SpoolEntry]]>([])
      let intake = IntakeQueue(
        open: {
          if isShut.snapshot { throw DatabaseError(.busy, "shut") }
          return try NotificationStore(.init(path: path, key: try Keys.raw))
        },
        spool: { pushes in
          guard case .silentPush(let first)? = pushes[0].first else { return 0 }
          if first.payload == "2" { throw DatabaseError(.tooLarge, "large") }
          if first.payload == "4" { throw DatabaseError(.diskFull, "full") }
          // One at a time.
          kept.withLock { $0.append(pushes[0]) }
          return 1
        }, schedule: timer.schedule, report: { error in reported.withLock { $0.append(error.code) } })
      intake.add(
        (1...5).map { number in
          .init(item: push(number)) { outcome in
            outcomes.withLock {
              if case .stored = outcome { $0.append("stored \(number)") } else { $0.append("failed \(number)") }
            }
          }
        })
      Self.settle(intake)
      #expect(outcomes.snapshot == ["stored 1", "stored 3", "failed 2", "failed 4", "failed 5"])
      #expect(reported.snapshot == [.diskFull, .busy])
      #expect(kept.snapshot.count == 2)
      isShut.withLock { $0 = false }
      #expect(timer.fire(intake) == 5)
      let store = try NotificationStore(.init(path: path, key: try Keys.raw))
      #expect(try store.silentPushes.page(limit: 9).map(\.payload) == ["2", "4", "5"])
    }

    @Test("A spool in the form of an earlier version: what cannot be stored waits in memory, and that is reported")
    func oldForm() throws {
      let bench = Bench()
      #expect(bench.push(["n": 1]) == .newData)
      bench.sensor.suspend()
      let other = try Connection.open(bench.path, key: Keys.raw)
      try other.execute("BEGIN IMMEDIATE")
      _ = bench.folder.write("store.sqlite.spool", "AWSPOOL1 and so on")
      #expect(bench.push(["n": 2]) == .failed)
      // At the opening, and where the push would have waited.
      #expect(bench.observer.errors.snapshot.map(\.code) == [.spoolUnreadable, .spoolUnreadable, .busy])
      try other.execute("ROLLBACK")
      try other.close()
      #expect(bench.push(["n": 3]) == .newData)
      #expect(try bench.stored { try $0.silentPushes.count() } == 3)
      #expect(bench.folder.names.contains("store.sqlite.spool"))
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
