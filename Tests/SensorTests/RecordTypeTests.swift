import Foundation
import Testing

// As an app has it: the sensor's module and no other.
import com_awareframework_ios_sensor_notification

extension SensorTests {
  /// The tables of the README's "Data Representations", by name and type.
  @Suite("Data representations") struct DataRepresentations {
    private static let common = [
      "label": "String", "deviceId": "String", "timestamp": "Int64", "timezone": "Int", "os": "String",
      "jsonVersion": "Int", "id": "Int64", "recordId": "String", "timezoneOffset": "Int",
    ]

    private func types(_ dictionary: [String: Any]) -> [String: String] {
      dictionary.mapValues { "\(type(of: $0))" }
    }

    @Test("NotificationData") func notificationData() {
      var data = NotificationData()
      #expect(
        data.notificationId == "" && data.title == "" && data.body == "" && data.categoryIdentifier == ""
          && data.bundleIdentifier == "" && data.sound == "" && data.badge == 0 && data.threadIdentifier == ""
          && data.interruptionLevel == 0 && data.label == "" && data.os == "iOS" && data.id == nil)
      let own = [
        "notificationId": "String", "title": "String", "body": "String", "categoryIdentifier": "String",
        "bundleIdentifier": "String", "sound": "String", "badge": "Int", "threadIdentifier": "String",
        "interruptionLevel": "Int", "source": "String",
      ]
      #expect(types(data.toDictionary()) == Self.common.merging(own) { $1 })
      #expect(data.toDictionary()["id"] as? Int64 == -1)
      #expect(
        NotificationData.databaseTableName == "ios_notification" && NotificationData.TABLE_NAME == "ios_notification")
      data.title = "Mia"
      #expect(NotificationData(data.toDictionary()) == data)
    }

    @Test("NotificationTokenData") func notificationTokenData() {
      var data = NotificationTokenData(timestamp: 5, label: "pilot")
      #expect(data.timestamp == 5 && data.label == "pilot" && data.token == "")
      #expect(types(data.toDictionary()) == Self.common.merging(["token": "String"]) { $1 })
      #expect(NotificationTokenData.databaseTableName == "ios_notification_token")
      data.token = "00ff"
      #expect(NotificationTokenData(data.toDictionary()) == data)
    }

    @Test("SilentPushData") func silentPushData() {
      var data = SilentPushData(["payload": "{}", "label": "pilot"])
      #expect(data.payload == "{}" && data.label == "pilot" && data.jsonVersion == 2)
      #expect(types(data.toDictionary()) == Self.common.merging(["payload": "String"]) { $1 })
      #expect(SilentPushData.databaseTableName == "ios_silent_push" && data.pushId == "")
      data.pushId = "p-1"
      let own = ["payload": "String", "pushId": "String"]
      #expect(types(data.toDictionary()) == Self.common.merging(own) { $1 })
      data.payload = #"{"k":1}"#
      #expect(SilentPushData(data.toDictionary()) == data)
    }
  }
}
