import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// The three record types: names, defaults and dictionaries.
@Suite struct RecordTests {
  @Test func tableNamesAreThePublicSensors() {
    #expect(NotificationData.databaseTableName == "ios_notification")
    #expect(NotificationTokenData.databaseTableName == "ios_notification_token")
    #expect(SilentPushData.databaseTableName == "ios_silent_push")
    #expect(NotificationData.TABLE_NAME == "ios_notification")
    #expect(NotificationTokenData.TABLE_NAME == "ios_notification_token")
    #expect(SilentPushData.TABLE_NAME == "ios_silent_push")
  }

  @Test func defaults() {
    let before = UnixTime.milliseconds()
    let data = NotificationData()
    #expect((before...UnixTime.milliseconds()).contains(data.timestamp))
    #expect(data.id == nil && data.label == "" && data.deviceId == "" && data.os == "iOS" && data.jsonVersion == 2)
    #expect(data.notificationId == "" && data.title == "" && data.body == "" && data.categoryIdentifier == "")
    #expect(data.bundleIdentifier == "" && data.sound == "" && data.badge == 0 && data.threadIdentifier == "")
    #expect(data.interruptionLevel == 0 && data.source == .foreground)
    #expect(data.timezoneOffset == TimeZone.current.secondsFromGMT() / 60)
    #expect(data.timezone == data.timezoneOffset / 60)
    #expect(NotificationTokenData(timestamp: 5, label: "l").timestamp == 5)
    #expect(SilentPushData(timestamp: 5, label: "l").label == "l")
    #expect(SilentPushData().payload == "" && SilentPushData().pushId == "" && NotificationTokenData().token == "")
  }

  @Test func dictionariesRoundTrip() throws {
    var data = NotificationData(timestamp: 1_764_460_861_000, label: "l")
    (data.id, data.title, data.badge, data.source, data.timezoneOffset) = (7, "t", 3, .extension, 345)
    #expect(NotificationData(data.toDictionary()) == data)
    var token = NotificationTokenData()
    token.token = "00ff"
    #expect(NotificationTokenData(token.toDictionary()) == token)
    var push = SilentPushData()
    push.payload = "{}"
    #expect(SilentPushData(push.toDictionary()) == push)
    push.pushId = "p-1"
    #expect(push.toDictionary()["pushId"] as? String == "p-1" && SilentPushData(push.toDictionary()) == push)
    // Through JSON, numbers come back as NSNumber.
    let json = try JSONSerialization.data(withJSONObject: data.toDictionary())
    let read = try #require(JSONSerialization.jsonObject(with: json) as? [String: Any])
    #expect(NotificationData(read) == data)
  }

  @Test func aDictionaryHasTheReadmesKeysAndWritesNoIdAsMinusOne() {
    let data = NotificationData().toDictionary()
    #expect(data["id"] as? Int64 == -1)
    #expect(
      Set(data.keys) == [
        "id", "timestamp", "deviceId", "label", "timezone", "os", "jsonVersion", "notificationId", "title", "body",
        "categoryIdentifier", "bundleIdentifier", "sound", "badge", "threadIdentifier", "interruptionLevel", "recordId",
        "timezoneOffset", "source",
      ])
    let common: Set = [
      "id", "timestamp", "deviceId", "label", "timezone", "os", "jsonVersion", "recordId", "timezoneOffset",
    ]
    #expect(Set(NotificationTokenData().toDictionary().keys) == common.union(["token"]))
    #expect(Set(SilentPushData().toDictionary().keys) == common.union(["payload"]))
  }

  @Test func missingAndOddValuesTakeTheDefaults() {
    let data = NotificationData(["badge": "three", "title": 7, "timestamp": 12.9, "id": -1])
    #expect(data.badge == 0 && data.title == "" && data.timestamp == 12 && data.id == nil)
    #expect(data.os == "iOS" && data.jsonVersion == 2 && data.source == .foreground)
  }

  @Test(arguments: [Int.max, Int.min, 200_000_000_000_000_000]) func absurdNumbersDoNoHarm(number: Int) {
    let data = NotificationData(["timezone": number, "badge": number, "timestamp": number, "jsonVersion": number])
    #expect(data.timezone == number && data.badge == number)
    let huge = NSNumber(value: 1e300)
    let other = NotificationData(["timezone": huge, "badge": huge, "timestamp": Double.nan, "timezoneOffset": -1e300])
    #expect(other.badge == 0 && (-1440...1440).contains(other.timezoneOffset))
  }

  /// A record of version 1 gets what a stored row of version 1 gets from the migration.
  @Test func aDictionaryOfVersion1GoesThroughTheSameStep() throws {
    let expected = try Fixture.text("v2_expected.jsonl").split(separator: "\n").map {
      JSON.parse(String($0)) as! [String: Any]
    }
    for row in expected {
      var older = row
      (older["jsonVersion"], older["recordId"], older["timezoneOffset"], older["source"]) = (1, nil, nil, nil)
      let upgraded: [String: Any] =
        switch row["table"] as? String {
        case "ios_notification": NotificationData(older).toDictionary()
        case "ios_silent_push": SilentPushData(older).toDictionary()
        default: NotificationTokenData(older).toDictionary()
        }
      for key in ["recordId", "timezoneOffset", "jsonVersion", "source"] {
        #expect("\(upgraded[key] ?? "")" == "\(row[key] ?? "")", "\(key)")
      }
    }
  }

  @Test func recordIdsAreVersion7UUIDsInTheOrderOfTime() throws {
    let ids = (0..<1000).map { _ in RecordID.random() }
    #expect(Set(ids).count == 1000)
    for id in ids {
      let characters = Array(id)
      #expect(UUID(uuidString: id) != nil && characters[14] == "7" && "89ab".contains(characters[19]))
    }
    let milliseconds = try #require(Int64(ids[0].replacingOccurrences(of: "-", with: "").prefix(12), radix: 16))
    #expect(abs(milliseconds - UnixTime.milliseconds()) < 60_000)
  }

  @Test(arguments: [0, -1, Int64.min]) func aClockBefore1970GivesIdentitiesOf1970(time: Int64) {
    let id = RecordID.random(at: time)
    #expect(id.hasPrefix("00000000-0000-7") && UUID(uuidString: id) != nil)
  }
}
