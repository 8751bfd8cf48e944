import Foundation
import XCTest
import com_awareframework_ios_sensor_notification

// Swift 5 mode, and nothing but the sensor's module: as an app's own tests use the public sensor.

final class DropInTests: XCTestCase {
  private var folder = ""

  override func setUp() {
    super.setUp()
    folder = NSTemporaryDirectory() + "/drop-in-\(UUID().uuidString)"
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  override func tearDown() {
    try? FileManager.default.removeItem(atPath: folder)
    super.tearDown()
  }

  private func makeSensor() -> NotificationSensor {
    let sensor = NotificationSensor()
    sensor.CONFIG.dbType = .sqlite
    sensor.CONFIG.dbPath = folder + "/store.sqlite"
    sensor.CONFIG.dbEncryptionKey = "correct horse battery staple"
    sensor.CONFIG.debug = true
    return sensor
  }

  func testCommandsAreParsed() {
    XCTAssertNil(NotificationCommand(userInfo: ["aps": ["content-available": 1]]))
    XCTAssertEqual(NotificationCommand(userInfo: ["aware_command": "sync"]), .sync)
    XCTAssertEqual(NotificationCommand(userInfo: [NotificationCommand.payloadKey: "restart"]), .restart)
    let url = URL(string: "https://example.com/config.json")!
    XCTAssertEqual(
      NotificationCommand(userInfo: [
        NotificationCommand.payloadKey: NotificationCommand.commandConfigUpdate,
        NotificationCommand.configURLKey: url.absoluteString,
      ]), .configUpdate(url: url))
    XCTAssertEqual(NotificationCommand(userInfo: ["aware_command": "hello"])?.rawValue, "hello")
  }

  func testTheLifeOfASensorIsBroadcast() {
    let sensor = makeSensor()
    let started = expectation(forNotification: .actionAwareNotificationStart, object: nil, handler: nil)
    let labelled = expectation(forNotification: .actionAwareNotificationSetLabel, object: nil) { notification in
      notification.userInfo?[NotificationSensor.EXTRA_LABEL] as? String == "pilot"
    }
    let synced = expectation(forNotification: .actionAwareNotificationSync, object: nil, handler: nil)
    let stopped = expectation(forNotification: .actionAwareNotificationStop, object: nil, handler: nil)
    sensor.start()
    sensor.set(label: "pilot")
    sensor.sync()
    sensor.stop()
    wait(for: [started, labelled, synced, stopped], timeout: 10)
    XCTAssertEqual(sensor.CONFIG.label, "pilot")
  }

  func testASilentPushEndsWithNewDataOnTheMainQueue() {
    let sensor = makeSensor()
    let finished = expectation(description: "completion")
    let received = expectation(description: "broadcast on the main queue")
    let command = expectation(description: "command")
    let tokens = [
      NotificationCenter.default.addObserver(
        forName: .actionAwareNotificationSilentPushReceived, object: sensor, queue: .main
      ) { notification in
        XCTAssertTrue(Thread.isMainThread)
        XCTAssertTrue(
          (notification.userInfo?[NotificationSensor.EXTRA_PAYLOAD] as? String)?.contains("restart") == true)
        received.fulfill()
      },
      NotificationCenter.default.addObserver(
        forName: .actionAwareNotificationCommandRestart, object: sensor, queue: .main
      ) { _ in command.fulfill() },
    ]
    let userInfo: [AnyHashable: Any] = ["aps": ["content-available": 1], "aware_command": "restart"]
    sensor.handleSilentPush(userInfo: userInfo) { result in
      XCTAssertEqual(result, .newData)
      finished.fulfill()
    }
    wait(for: [finished, received, command], timeout: 10)
    for token in tokens { NotificationCenter.default.removeObserver(token) }
  }

  func testADeviceTokenReachesTheObserver() {
    class Observer: NotificationObserver {
      let token: XCTestExpectation
      var received: NotificationTokenData?
      init(_ token: XCTestExpectation) { self.token = token }
      func onNotificationReceived(data: NotificationData) {}
      func onDeviceTokenUpdated(data: NotificationTokenData) {
        received = data
        token.fulfill()
      }
      func onSilentPushReceived(data: SilentPushData) {}
      func onCommandReceived(command: NotificationCommand, data: SilentPushData) {}
    }
    let sensor = makeSensor()
    let observer = Observer(expectation(description: "token"))
    sensor.CONFIG.sensorObserver = observer
    sensor.setDeviceToken(Data([0xab, 0xcd]))
    wait(for: [observer.token], timeout: 10)
    XCTAssertEqual(observer.received?.token, "abcd")
    XCTAssertEqual(observer.received?.toDictionary()["jsonVersion"] as? Int, 2)
  }

  func testASubclassOfTheBaseClassesCompiles() {
    class OtherConfig: SensorConfig {
      var frequency = 5
      override func set(config: [String: Any]) {
        super.set(config: config)
        if let value = config["frequency"] as? Int { frequency = value }
      }
    }
    class OtherSensor: AwareSensor {
      var starts = 0
      override func start() { starts += 1 }
    }
    let config = OtherConfig(["frequency": 10, "label": "pilot"])
    XCTAssertEqual(config.frequency, 10)
    XCTAssertEqual(config.label, "pilot")
    let sensor = OtherSensor()
    sensor.start()
    sensor.enable()
    XCTAssertTrue(sensor.isEnabled())
    XCTAssertEqual(sensor.starts, 1)
  }
}
