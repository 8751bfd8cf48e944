import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  @Suite("Threads") struct Threads {
    @Test("Calls return at once, while the store is locked by another process") func returnAtOnce() throws {
      let bench = Bench()
      let keyFile = bench.folder.write("key", Keys.rawText)
      _ = try NotificationStore.create(bench.path, key: try Keys.raw)
      let holder = try Program.start(Program.helper, ["hold", bench.path, keyFile, "DELETE FROM ios_silent_push"])
      #expect(holder.waitForLine("holding"))
      bench.sensor.start()
      bench.sensor.setDeviceToken(Data([1]))
      bench.sensor.handle(ReceivedNotification(identifier: "1"))
      bench.sensor.handleSilentPush(userInfo: [:]) { _ in }
      bench.sensor.set(label: "x")
      bench.sensor.sync()
      bench.sensor.stop()
      // Still locked: nothing can have been stored, and all calls are behind us.
      #expect(bench.observer.notifications.snapshot.isEmpty)
      holder.closeInput()
      #expect(holder.finish().status == 0)
      #expect(try bench.stored { try $0.notifications.count() } == 1)
    }

    @Test("Everything comes on the callback queue, in the order of the calls") func order() {
      let bench = Bench()
      let key = DispatchSpecificKey<Bool>()
      bench.callbacks.setSpecific(key: key, value: true)
      let elsewhere = Locked(0)
      let seen = Locked<[Int]>([])
      let listener = BroadcastListener([
        .actionAwareNotificationSilentPushReceived: { notification in
          if DispatchQueue.getSpecific(key: key) != true { elsewhere.withLock { $0 += 1 } }
          let data = notification.userInfo?["data"] as? SilentPushData
          seen.withLock { $0.append(Int(data?.payload.filter(\.isNumber) ?? "") ?? -1) }
        }
      ])
      for number in 0..<200 {
        bench.sensor.handleSilentPush(userInfo: ["n": number]) { _ in
          if DispatchQueue.getSpecific(key: key) != true { elsewhere.withLock { $0 += 1 } }
        }
      }
      bench.settle()
      withExtendedLifetime(listener) {}
      #expect(seen.snapshot == Array(0..<200))
      #expect(bench.observer.silentPushes.snapshot.compactMap(\.id) == (1...200).map { Int64($0) })
      #expect(elsewhere.snapshot == 0)
    }

    @Test("On the main queue by default") func mainQueue() async {
      let bench = Bench { $0.callbackQueue = NotificationSensor.Config().callbackQueue }
      // Not the main thread: on Linux, where main is parked, others run its queue.
      let key = DispatchSpecificKey<Bool>()
      DispatchQueue.main.setSpecific(key: key, value: true)
      let isMain = await withCheckedContinuation { continuation in
        bench.sensor.handleSilentPush(userInfo: [:]) { _ in
          continuation.resume(returning: DispatchQueue.getSpecific(key: key))
        }
      }
      #expect(isMain == true)
    }

    @Test("An observer may call the sensor, and wait for nothing") func reentrant() {
      let bench = Bench()
      let again = Locked(3)
      let sensor = WeakReference(bench.sensor)
      let listener = BroadcastListener([
        .actionAwareNotificationSilentPushReceived: { _ in
          let goesOn = again.withLock { rest in
            rest -= 1
            return rest >= 0
          }
          if goesOn { sensor.value?.handleSilentPush(userInfo: [:]) { _ in } }
        }
      ])
      _ = bench.push()
      for _ in 0..<4 { bench.settle() }
      withExtendedLifetime(listener) {}
      #expect(bench.observer.silentPushes.snapshot.count == 4)
    }

    @Test("An observer may call the sensor when it is released by being replaced") func observersDeinit() {
      final class Stopping: NotificationObserver {
        weak var sensor: NotificationSensor?
        func onNotificationReceived(data: NotificationData) {}
        func onDeviceTokenUpdated(data: NotificationTokenData) {}
        func onSilentPushReceived(data: SilentPushData) {}
        func onCommandReceived(command: NotificationCommand, data: SilentPushData) {}
        deinit { sensor?.stop() }
      }
      let bench = Bench()
      func set() {
        let observer = Stopping()
        observer.sensor = bench.sensor
        bench.config.sensorObserver = observer
      }
      set()
      bench.config.sensorObserver = nil
      set()
      bench.sensor.CONFIG = NotificationSensor.Config([:])
      #expect(bench.names.filter { $0 == ".SENSOR_STOP" }.count >= 1)
    }

    @Test("Two sensors on two paths have a store each") func twoPaths() throws {
      let (one, two) = (Bench(), Bench(key: "other words"))
      _ = one.push(["n": 1])
      _ = two.push(["n": 2])
      #expect(try one.stored { try $0.silentPushes.page(limit: 9).map(\.payload) } == [#"{"n":1}"#])
      #expect(try two.stored { try $0.silentPushes.page(limit: 9).map(\.payload) } == [#"{"n":2}"#])
    }

    @Test("Two sensors on one path share the store; a push that both see is one row") func onePath() throws {
      let one = Bench()
      let two = Bench { $0.dbPath = one.path }
      let finished = DispatchGroup()
      for bench in [one, two] {
        let sensor = Carried(bench.sensor!)
        DispatchQueue.global().async(group: finished) {
          for number in 0..<100 {
            sensor.value.handleSilentPush(userInfo: ["n": number]) { _ in }
            sensor.value.handle(ReceivedNotification(identifier: "\(number)", title: "Mia"))
          }
        }
      }
      finished.wait()
      two.settle()
      #expect(try one.stored { try $0.silentPushes.count() } == 200)
      #expect(try one.stored { try $0.notifications.count() } == 100)
      #expect(one.observer.errors.snapshot.isEmpty && two.observer.errors.snapshot.isEmpty)
      #expect(try one.stored { $0.deviceId } == two.observer.silentPushes.snapshot.first?.deviceId)
    }

    /// Ten seconds under ThreadSanitizer, a short while otherwise.
    @Test("Eight threads call every method of one sensor") func everyMethod() throws {
      let bench = Bench()
      let end = Date() + (Campaign.isSanitized ? 10 : 0.5)
      let asked = Locked(0)
      let answered = Locked((0, newData: 0))
      let finished = DispatchGroup()
      for thread in 0..<8 {
        let sensor = Carried(bench.sensor!)
        DispatchQueue(label: "thread").async(group: finished) {
          let sensor = sensor.value
          var generator = SeededGenerator(seed: UInt64(thread))
          while Date() < end {
            switch Int.random(in: 0..<14, using: &generator) {
            case 0: sensor.start()
            case 1: sensor.stop()
            case 2: sensor.sync(force: true)
            case 3: sensor.enable()
            case 4: sensor.disable()
            case 5: _ = sensor.isEnabled()
            case 6: sensor.set(label: "\(thread)")
            case 7: sensor.setDeviceToken(Data([UInt8(thread)]))
            case 8: sensor.handle(ReceivedNotification(identifier: "\(thread)"))
            case 9: sensor.CONFIG.debug.toggle()
            case 10: sensor.syncConfig = DbSyncConfig().apply { $0.completionHandler = { _, _ in } }
            case 11: _ = "\(sensor.CONFIG) \(sensor)"
            case 12: NotificationCenter.default.post(name: .Aware.dbSyncRequest, object: nil)
            default:
              asked.withLock { $0 += 1 }
              sensor.handleSilentPush(userInfo: ["aware_command": "sync"]) { result in
                answered.withLock {
                  $0.0 += 1
                  if result == .newData { $0.newData += 1 }
                }
              }
            }
            // This loop is faster than any app, and a completion handler's time is limited.
            while asked.snapshot - answered.snapshot.0 > 100 { usleep(1000) }
          }
        }
      }
      finished.wait()
      bench.settle()
      #expect(asked.snapshot > 0)
      #expect(answered.snapshot == (asked.snapshot, newData: asked.snapshot))
      #expect(try bench.stored { try $0.silentPushes.count() } == asked.snapshot)
      #expect(bench.observer.errors.snapshot.isEmpty)
    }
  }
}
