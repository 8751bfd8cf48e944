import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  /// A test for each sentence of the README's "Public functions".
  @Suite("Public functions") struct PublicFunctions {
    @Test("init: initializes the sensor with the given configuration") func initialize() {
      let config = NotificationSensor.Config()
      #expect(NotificationSensor(config).CONFIG === config)
      #expect(NotificationSensor().CONFIG.dbPath == "aware_notification")
      #expect(NotificationSensor().id != NotificationSensor().id)
    }

    @Test("start: installs the delegate proxy and optionally requests permission", arguments: [true, false])
    func start(_ requestsPermission: Bool) {
      let bench = Bench { $0.requestPermission = requestsPermission }
      bench.sensor.start()
      #expect(bench.integration.calls.snapshot == ["install"] + (requestsPermission ? ["requestPermission"] : []))
      bench.integration.deliver(ReceivedNotification(identifier: "1", title: "Mia", body: "Hello"))
      bench.settle()
      #expect(bench.observer.notifications.snapshot.map(\.title) == ["Mia"])
    }

    @Test("stop: removes the delegate proxy and restores the previous delegate") func stop() {
      let bench = Bench()
      bench.sensor.start()
      bench.sensor.stop()
      #expect(bench.integration.calls.snapshot == ["install", "remove"])
      bench.integration.deliver(ReceivedNotification(identifier: "1"))
      bench.settle()
      #expect(bench.observer.notifications.snapshot.isEmpty)
      #expect(bench.names == [".SENSOR_START", ".SENSOR_STOP"])
    }

    @Test("start, stop, start: records go on into the same store, and stop leaves no file open") func again() throws {
      let bench = Bench()
      for round in 1...3 {
        bench.sensor.start()
        #expect(bench.push() == .newData)
        bench.sensor.stop()
        bench.settle()
        #expect(bench.folder.names == ["store.sqlite"])
        #expect(try bench.stored { try $0.silentPushes.count() } == round)
      }
    }

    @Test("sync without a host ends with an error that says so, through handler and broadcast", arguments: [nil, ""])
    func syncWithoutHost(_ host: String?) throws {
      let bench = Bench { $0.dbHost = host }
      #expect(try sync(bench) == .noHost)
    }

    private func sync(_ bench: Bench) throws -> AwareNotificationError.Code? {
      let ends = Locked<[AwareNotificationError.Code?]>([])
      bench.sensor.syncConfig = DbSyncConfig().apply { config in
        config.completionHandler = { status, error in
          ends.withLock { $0.append(status ? nil : (error as? AwareNotificationError)?.code) }
        }
      }
      bench.sensor.sync(force: true)
      bench.settle()
      #expect(bench.names == [".SYNC", ".SENSOR_SYNC_COMPLETION"])
      let completion = try #require(bench.broadcasts(.actionAwareNotificationSyncCompletion).first)
      #expect(completion.userInfo?["status"] as? Bool == false)
      #expect((completion.userInfo?["error"] as? AwareNotificationError)?.code == ends.snapshot.first ?? nil)
      #expect(ends.snapshot.count == 1)
      return ends.snapshot.first ?? nil
    }

    @Test("The handler of a sync is called on its own queue, where it has one") func syncQueue() {
      let bench = Bench()
      let queue = DispatchQueue(label: "uploads")
      let key = DispatchSpecificKey<Bool>()
      queue.setSpecific(key: key, value: true)
      let isThere = Locked(false)
      bench.sensor.syncConfig = DbSyncConfig().apply { config in
        config.dispatchQueue = queue
        config.completionHandler = { _, _ in isThere.withLock { $0 = DispatchQueue.getSpecific(key: key) == true } }
      }
      bench.sensor.sync()
      bench.settle()
      queue.sync {}
      #expect(isThere.snapshot)
    }

    @Test("set(label:): sets a label applied to all subsequent data points") func setLabel() throws {
      let bench = Bench { $0.label = "first" }
      _ = bench.push()
      bench.sensor.set(label: "second")
      _ = bench.push()
      bench.sensor.setDeviceToken(Data([1]))
      bench.sensor.handle(ReceivedNotification(identifier: "1"))
      #expect(try bench.stored { try $0.silentPushes.page(limit: 9).map(\.label) } == ["first", "second"])
      #expect(try bench.stored { try $0.tokens.page(limit: 9).map(\.label) } == ["second"])
      #expect(try bench.stored { try $0.notifications.page(limit: 9).map(\.label) } == ["second"])
      #expect(bench.broadcasts(.actionAwareNotificationSetLabel).map { $0.userInfo?["label"] as? String } == ["second"])
    }

    @Test("A visible push that comes again is handed to observers as the row that it has") func merged() throws {
      let bench = Bench()
      bench.sensor.handle(ReceivedNotification(identifier: "1", title: "title", receivedAt: 1000))
      bench.sensor.set(label: "later")
      bench.sensor.handle(ReceivedNotification(identifier: "1", title: "title", receivedAt: 2000))
      let rows = try bench.stored { try $0.notifications.page(limit: 9) }
      #expect(rows.count == 1)
      #expect(bench.observer.notifications.snapshot == rows + rows)
      let broadcasts = bench.broadcasts(.actionAwareNotificationReceived)
      #expect(broadcasts.map { $0.userInfo?["data"] as? NotificationData } == rows + rows)
    }

    @Test("setDeviceToken: stores the token as hexadecimal text and notifies observers") func setDeviceToken() throws {
      let bench = Bench()
      bench.sensor.setDeviceToken(Data([0x00, 0x0f, 0xf0, 0xab]))
      let tokens = try bench.stored { try $0.tokens.page(limit: 9) }
      #expect(tokens.map(\.token) == ["000ff0ab"])
      #expect(bench.observer.tokens.snapshot == tokens)
      #expect(
        bench.broadcasts(.actionAwareNotificationTokenUpdated).map { $0.userInfo?["token"] as? String } == ["000ff0ab"])
    }

    @Test("handleSilentPush: dispatches recognized commands and stores the raw payload") func handleSilentPush() throws
    {
      let bench = Bench()
      let payload: [AnyHashable: Any] = ["aps": ["content-available": 1], "aware_command": "restart", "n": 3]
      #expect(bench.push(payload) == .newData)
      let rows = try bench.stored { try $0.silentPushes.page(limit: 9) }
      #expect(rows.count == 1)
      #expect(JSON.equal(rows[0].payload, #"{"aps":{"content-available":1},"aware_command":"restart","n":3}"#))
      #expect(bench.observer.silentPushes.snapshot == rows)
      #expect(bench.observer.commands.snapshot == [.restart])
    }

    @Test("handle: every field of a notification is stored") func handle() throws {
      let bench = Bench()
      let notification = ReceivedNotification(
        identifier: "request", title: "Mia", body: "Hello", categoryIdentifier: "MESSAGE", threadIdentifier: "chat",
        bundleIdentifier: "org.example", hasSound: true, badge: 3, interruptionLevel: 2, source: .response,
        receivedAt: 1_764_460_861_000)
      bench.sensor.handle(notification)
      let row = try #require(try bench.stored { try $0.notifications.page(limit: 9) }.first)
      #expect(row.notificationId == "request" && row.title == "Mia" && row.body == "Hello")
      #expect(row.categoryIdentifier == "MESSAGE" && row.threadIdentifier == "chat")
      #expect(row.bundleIdentifier == "org.example" && row.sound == "default" && row.badge == 3)
      #expect(row.interruptionLevel == 2 && row.source == .response && row.timestamp == 1_764_460_861_000)
    }

    @Test("enable listens for requests to sync, disable ends that, isEnabled tells") func enable() {
      let bench = Bench()
      func request() -> Int {
        NotificationCenter.default.post(name: .Aware.dbSyncRequest, object: nil)
        return bench.broadcasts(.actionAwareNotificationSync).count
      }
      #expect(!bench.sensor.isEnabled())
      #expect(request() == 0)
      bench.sensor.enable()
      bench.sensor.enable()
      #expect(bench.sensor.isEnabled())
      #expect(request() == 1)
      bench.sensor.disable()
      #expect(!bench.sensor.isEnabled())
      #expect(request() == 1)
    }

    @Test("enabled in the configuration does not gate start") func enabledIsForManagers() {
      let bench = Bench { $0.enabled = false }
      bench.sensor.start()
      #expect(bench.push() == .newData)
      #expect(bench.names.first == ".SENSOR_START")
    }

    @Test("wipe removes all that was recorded, and tells when it is done") func wipe() throws {
      let bench = Bench()
      _ = bench.push()
      let ends = Locked<[AwareNotificationError?]>([])
      bench.sensor.wipe { error in ends.withLock { $0.append(error) } }
      #expect(try bench.stored { try $0.silentPushes.count() } == 0)
      #expect(ends.snapshot == [nil])
      #expect(bench.push() == .newData)
    }
  }
}
