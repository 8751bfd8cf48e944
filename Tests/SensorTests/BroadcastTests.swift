import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  /// A test for each line of the README's "Fired Broadcasts".
  @Suite("Fired broadcasts") struct FiredBroadcasts {
    private let bench = Bench()
    private let url = "https://study.example.org/17.json"

    @Test("RECEIVED: a foreground notification is received") func received() throws {
      bench.sensor.handle(ReceivedNotification(identifier: "1", title: "Mia"))
      let broadcast = try #require(bench.broadcasts(.actionAwareNotificationReceived).first)
      let data = try #require(broadcast.userInfo?["data"] as? NotificationData)
      #expect(data.title == "Mia" && data.id == 1 && !data.deviceId.isEmpty)
    }

    @Test("TOKEN_UPDATED: the APNs device token is updated") func tokenUpdated() {
      bench.sensor.setDeviceToken(Data([1, 2]))
      #expect(
        bench.broadcasts(.actionAwareNotificationTokenUpdated).map { $0.userInfo?["token"] as? String } == ["0102"])
    }

    @Test("SILENT_PUSH_RECEIVED: a silent push is received") func silentPushReceived() throws {
      _ = bench.push(["k": "v"])
      let broadcast = try #require(bench.broadcasts(.actionAwareNotificationSilentPushReceived).first)
      #expect(broadcast.userInfo?["payload"] as? String == #"{"k":"v"}"#)
      #expect((broadcast.userInfo?["data"] as? SilentPushData)?.payload == #"{"k":"v"}"#)
    }

    @Test("COMMAND_SYNC: for a sync command") func commandSync() throws {
      try expectCommand(.actionAwareNotificationCommandSync, "sync")
    }

    @Test("COMMAND_RESTART: for a restart command") func commandRestart() throws {
      try expectCommand(.actionAwareNotificationCommandRestart, "restart")
    }

    @Test("COMMAND_CONFIG_UPDATE: for a config_update command, with the URL") func commandConfigUpdate() throws {
      let broadcast = try expectCommand(.actionAwareNotificationCommandConfigUpdate, "config_update")
      #expect(broadcast.userInfo?["configUrl"] as? URL == URL(string: url))
    }

    @Test("COMMAND_CUSTOM: for unrecognized commands") func commandCustom() throws {
      try expectCommand(.actionAwareNotificationCommandCustom, "vibrate")
    }

    @discardableResult
    private func expectCommand(_ name: Notification.Name, _ word: String) throws -> Notification {
      _ = bench.push(["aware_command": word, "aware_config_url": url])
      let broadcast = try #require(bench.broadcasts(name).first)
      #expect(broadcast.userInfo?["command"] as? String == word)
      #expect((broadcast.userInfo?["data"] as? SilentPushData)?.id == 1)
      #expect(broadcast.object as AnyObject? === bench.sensor)
      return broadcast
    }
  }

  /// A test for each line of the README's "Received Broadcasts".
  @Suite("Received broadcasts") struct ReceivedBroadcasts {
    private let bench = Bench()

    private func post(_ name: Notification.Name, _ userInfo: [String: Any]? = nil, from sender: Any? = nil) {
      NotificationCenter.default.post(name: name, object: sender, userInfo: userInfo)
    }

    @Test("START: to start the sensor") func start() {
      post(.actionAwareNotificationStart)
      #expect(bench.integration.calls.snapshot == ["install"])
      #expect(bench.names == [".SENSOR_START"])
    }

    @Test("STOP: to stop the sensor") func stop() {
      post(.actionAwareNotificationStop, from: NSObject())
      #expect(bench.integration.calls.snapshot == ["remove"])
      #expect(bench.names == [".SENSOR_STOP"])
    }

    @Test("SYNC: to send sync attempt to the host") func sync() {
      post(.actionAwareNotificationSync)
      #expect(bench.names == [".SYNC", ".SENSOR_SYNC_COMPLETION"])
    }

    @Test("SET_LABEL: to set the data label") func setLabel() {
      post(.actionAwareNotificationSetLabel, ["label": "pilot"])
      #expect(bench.sensor.CONFIG.label == "pilot")
      post(.actionAwareNotificationSetLabel, ["label": 3])
      post(.actionAwareNotificationSetLabel)
      #expect(bench.sensor.CONFIG.label == "pilot")
      #expect(bench.names == [".SET_LABEL"])
    }

    @Test("What a sensor posts is an echo: two sensors do not drive each other") func echoes() {
      let other = Bench()
      bench.sensor.start()
      bench.sensor.set(label: "pilot")
      bench.sensor.sync()
      bench.sensor.stop()
      #expect(bench.names == [".SENSOR_START", ".SET_LABEL", ".SYNC", ".SENSOR_SYNC_COMPLETION", ".SENSOR_STOP"])
      #expect(other.names == [])
      #expect(other.sensor.CONFIG.label == "")
    }

    @Test("A broadcast of another object reaches every sensor once") func everySensor() {
      let other = Bench()
      post(.actionAwareNotificationStart)
      #expect(bench.names == [".SENSOR_START"])
      #expect(other.names == [".SENSOR_START"])
    }

    @Test("A sensor that is gone hears nothing, and is not kept by listening") func gone() {
      weak var sensor: NotificationSensor?
      do {
        let short = Bench()
        sensor = short.sensor
        short.sensor.enable()
        short.sensor.start()
        short.settle()
        short.dropSensor()
      }
      #expect(sensor == nil)
      post(.actionAwareNotificationStart)
      post(.Aware.dbSyncRequest)
    }
  }
}
