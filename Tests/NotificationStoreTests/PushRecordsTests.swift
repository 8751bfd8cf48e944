import Foundation
import NotificationStore
import TestSupport
import Testing

@Suite struct PushRecordsTests {
  private func notification(_ payload: [String: Any]) throws -> NotificationData {
    try #require(PushRecords(payload: payload).notification)
  }

  @Test func sampleAlertsMapFieldByField() throws {
    typealias Row = (String, String, String, Int, String, String, Int)
    // title, body, category, badge, sound, thread, interruption level; nil where nothing of it is visible
    let expected: [Row?] = [
      ("Mia", "Are we still on for Saturday? 🥾", "MESSAGE", 3, "default", "chat-4711", 1),
      ("Registrar", "Your transcript is ready.\nOpen the portal to download it.", "", 12, "default", "inbox", 1),
      ("", "", "", 0, "default", "", 2),
      ("", "Storm warning until 18:00 — stay inside", "", 0, "default", "", 3),
      ("速報", "東京で震度4の地震がありました。津波の心配はありません。", "", 0, "", "", 0),
      ("موعد", "اجتماع الفريق خلال ١٥ دقيقة", "EVENT_INVITE", 0, "", "", 1),
      (
        "50% off + free shipping; today only & tomorrow", "Use code A=B&C \"SAVE\" \\ <b>now</b>", "", 1, "", "", 1
      ),
      ("", "", "", 5, "", "", 1),
      nil,
      ("👩‍👩‍👧‍👦", "é vs é, ﷽, 𝕊𝕨𝕚𝕗𝕥, tab\there, null-ish ␀", "", 0, "", "", 1),
      ("", "Goal reached", "", 0, "", "", 1),
      nil,
    ]
    let samples = try Fixture.payloads("alerts")
    #expect(samples.count == expected.count)
    for (sample, row) in zip(samples, expected) {
      let records = PushRecords(
        payload: sample["payload"] as! [String: Any], identifier: sample["id"] as! String,
        bundle: sample["bundle"] as! String, receivedAt: (sample["receivedAt"] as! NSNumber).int64Value)
      #expect((records.notification == nil) == (row == nil) && (records.silentPush == nil) == (row != nil))
      guard let row else { continue }
      let data = try #require(records.notification)
      #expect(data.notificationId == sample["id"] as! String)
      #expect(data.bundleIdentifier == sample["bundle"] as! String)
      #expect(data.timestamp == (sample["receivedAt"] as! NSNumber).int64Value)
      #expect((data.title, data.body, data.categoryIdentifier) == (row.0, row.1, row.2))
      #expect((data.badge, data.sound, data.threadIdentifier, data.interruptionLevel) == (row.3, row.4, row.5, row.6))
    }
  }

  @Test func sampleSilentPushesKeepTheWholePayload() throws {
    for sample in try Fixture.payloads("silent") {
      let payload = sample["payload"] as! [String: Any]
      let silent = try #require(PushRecords(payload: payload).silentPush)
      let kept = try #require(JSON.parse(silent.payload))
      #expect(JSON.equal(kept, payload), "\(sample["id"] ?? "")")
    }
  }

  @Test func numbersBeyondDoublesTrueAndNullSurvive() throws {
    let text =
      #"{"id":9007199254740993,"max":18446744073709551615,"min":-9223372036854775808,"flag":true,"one":1,"#
      + #""half":0.5,"none":null,"list":[null,{"x":[]}],"slash":"a/b","empty":""}"#
    let silent = try #require(PushRecords(payload: JSON.parse(text) as! [String: Any]).silentPush)
    #expect(JSON.equal(silent.payload, text))
    #expect(silent.payload.contains("9007199254740993") && silent.payload.contains("18446744073709551615"))
    #expect(silent.payload.contains(#""flag":true"#) && silent.payload.contains(#""one":1"#))
  }

  @Test func contentAvailableDecidesBetweenTheKinds() {
    func kinds(_ payload: [String: Any]) -> [Bool] {
      let records = PushRecords(payload: payload)
      return [records.notification != nil, records.silentPush != nil]
    }
    #expect(kinds(["aps": ["content-available": 1]]) == [false, true])
    #expect(kinds(["aps": ["content-available": "1"]]) == [false, true])
    #expect(kinds(["aps": ["alert": "a"]]) == [true, false])
    #expect(kinds(["aps": ["sound": "a"]]) == [true, false])
    #expect(kinds(["aps": ["badge": 0]]) == [true, false])
    #expect(kinds(["aps": ["content-available": 1, "alert": "a"]]) == [true, true])
    #expect(kinds(["aps": ["content-available": 0, "alert": "a"]]) == [true, false])
    #expect(kinds(["aps": [:] as [String: Any]]) == [false, true])
    #expect(kinds(["aps": ["alert": NSNull()]]) == [false, true])
    #expect(kinds(["aps": "not a dictionary"]) == [false, true])
    #expect(kinds([:]) == [false, true])
  }

  /// What each `aps` makes: a notification with this sound and badge, or a silent push.
  @Test(arguments: [
    (#"{"alert":""}"#, nil), (#"{"alert":{}}"#, nil), (#"{"alert":{"title":"","subtitle":"","body":""}}"#, nil),
    (#"{"alert":{"title":7,"loc-key":["x"],"launch-image":"i"}}"#, nil), (#"{"alert":42}"#, nil),
    (#"{"alert":["x"]}"#, nil), (#"{"alert":true}"#, nil), (#"{"sound":""}"#, nil), (#"{"sound":{}}"#, nil),
    (#"{"sound":{"name":"","critical":0}}"#, nil), (#"{"sound":{"critical":true,"volume":1}}"#, nil),
    (#"{"sound":1}"#, nil), (#"{"badge":"1"}"#, nil), (#"{"badge":true}"#, nil), (#"{"badge":false}"#, nil),
    (#"{"badge":{}}"#, nil), (#"{"badge":null,"sound":null,"alert":null}"#, nil), (#"{"category":"c"}"#, nil),
    (#"{"alert":" "}"#, "0"), (#"{"alert":{"title":"t"}}"#, "0"), (#"{"alert":{"subtitle":"s"}}"#, "0"),
    (#"{"alert":{"body":"b"}}"#, "0"), (#"{"alert":{"loc-key":"k"}}"#, "0"), (#"{"alert":{"title-loc-key":"k"}}"#, "0"),
    (#"{"alert":{"subtitle-loc-key":"k"}}"#, "0"), (#"{"alert":"a","sound":{},"badge":true}"#, "0"),
    (#"{"sound":"s"}"#, "default0"), (#"{"sound":{"name":"s"}}"#, "default0"),
    (#"{"sound":{"critical":1}}"#, "default0"), (#"{"sound":{"critical":1.0,"name":""}}"#, "default0"),
    (#"{"badge":0}"#, "0"), (#"{"badge":1}"#, "1"), (#"{"badge":-1}"#, "-1"), (#"{"badge":1.0}"#, "1"),
  ])
  func whatIsVisibleMakesANotification(aps: String, expected: String?) throws {
    for isBackground in [false, true] {
      let text = #"{"aps":"# + (isBackground ? #"{"content-available":1,"# + aps.dropFirst() : aps) + "}"
      let records = PushRecords(payload: try #require(JSON.parse(text) as? [String: Any]))
      #expect(records.notification.map { "\($0.sound)\($0.badge)" } == expected)
      #expect((records.silentPush != nil) == (isBackground || expected == nil))
    }
  }

  @Test func numbersOfAnAppAreBadgesAndItsBooleansAreNone() {
    for badge in [0, 1, Int8(1), UInt8(0), 1.5, NSNumber(value: 1), NSNumber(value: Int8(1))] as [Any] {
      #expect(PushRecords(payload: ["aps": ["badge": badge]]).notification != nil, "\(type(of: badge)) \(badge)")
    }
    for badge in [true, false, NSNumber(value: true), NSNumber(value: false)] as [Any] {
      #expect(PushRecords(payload: ["aps": ["badge": badge]]).notification == nil, "\(type(of: badge)) \(badge)")
    }
  }

  @Test func oddTypesTakeTheDefaults() throws {
    let data = try notification([
      "aps": [
        "alert": ["title": 7, "body": ["x"], "subtitle": "s"], "badge": "3", "category": 1,
        "interruption-level": "loud",
      ]
    ])
    #expect(data.title == "" && data.body == "" && data.badge == 0 && data.categoryIdentifier == "")
    #expect(data.interruptionLevel == 1)
    for badge in [1e300, -1e300, Double.nan, 1.5, UInt64.max] as [any Sendable] {
      #expect(try notification(["aps": ["badge": badge]]).badge == 0, "\(badge)")
    }
  }

  @Test func whatJSONCannotHoldFollowsTheRule() throws {
    let payload: [AnyHashable: Any] = [
      "date": Date(timeIntervalSince1970: 1.5), "data": Data([1, 2, 255]), "url": URL(string: "https://a.example/b")!,
      "nan": Double.nan, "up": Double.infinity, "down": -Float.infinity, 7: "integer key", "none": Int?.none as Any,
      "some": Int?.some(3) as Any, "nested": [1, Date(timeIntervalSince1970: 0), ["deep": Data()]] as [Any],
      "aps": ["content-available": 1],
    ]
    let silent = try #require(PushRecords(payload: payload).silentPush)
    let expected =
      #"{"7":"integer key","aps":{"content-available":1},"data":"AQL/","date":"1970-01-01T00:00:01.500Z","#
      + #""down":"-Infinity","nan":"NaN","nested":[1,"1970-01-01T00:00:00.000Z",{"deep":""}],"none":null,"some":3,"#
      + #""up":"Infinity","url":"https://a.example/b"}"#
    #expect(JSON.equal(silent.payload, expected))
  }

  @Test func deepNestingAndLargeTextsAreKept() throws {
    var nested: [String: Any] = ["end": String(repeating: "🥾", count: 1000)]
    for _ in 0..<200 { nested = ["in": nested] }
    let silent = try #require(PushRecords(payload: nested).silentPush)
    #expect(JSON.equal(try #require(JSON.parse(silent.payload)), nested))
  }
}
