import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  @Suite("Whatever is in a push") struct Payloads {
    struct Odd: CustomStringConvertible { let description = "an odd value" }

    /// What it is, the value, and the JSON expected of it. Made anew for each test: such values are not Sendable.
    static var values: [(String, Any, String)] {
      [
        ("a date", Date(timeIntervalSince1970: 1_764_460_861.25), #""2025-11-30T00:01:01.250Z""#),
        ("data", Data([0, 1, 255]), #""AAH/""#),
        ("a URL", URL(string: "https://example.org/?a=b")!, #""https://example.org/?a=b""#),
        ("not a number", Double.nan, #""NaN""#),
        ("infinity", Double.infinity, #""Infinity""#),
        ("minus infinity", -Double.infinity, #""-Infinity""#),
        ("an odd value", Odd(), #""an odd value""#),
        ("a nested odd value", ["deep": [Odd(), 1] as [Any]], #"{"deep":["an odd value",1]}"#),
        ("integer keys", [1: "one", 2: ["two": 2]] as [AnyHashable: Any], #"{"1":"one","2":{"two":2}}"#),
        ("emoji", String(repeating: "🥾", count: 1024), "\"" + String(repeating: "🥾", count: 1024) + "\""),
        ("null", NSNull(), "null"),
        ("true is not 1", [true, 1] as [Any], "[true,1]"),
        ("a large integer", UInt64.max, "18446744073709551615"),
      ]
    }

    @Test("is kept as JSON or by the documented rule, and its command is carried out", arguments: 0..<13)
    func kept(_ index: Int) throws {
      #expect(Self.values.count == 13)
      let (name, value, expected) = Self.values[index]
      let bench = Bench()
      #expect(bench.push(["value": value, "aware_command": "restart", "kept": "whole"]) == .newData, "\(name)")
      let payload = try #require(try bench.stored { try $0.silentPushes.page(limit: 9) }.first?.payload)
      #expect(JSON.equal(payload, #"{"aware_command":"restart","kept":"whole","value":\#(expected)}"#), "\(name)")
      #expect(bench.observer.commands.snapshot == [.restart])
    }

    @Test("is kept when it is nested deeply", arguments: [100, 400]) func deep(_ depth: Int) throws {
      var value: Any = "bottom"
      for _ in 0..<depth { value = ["in": value] }
      let bench = Bench()
      #expect(bench.push(["value": value, "aware_command": "restart"]) == .newData)
      let payload = try #require(try bench.stored { try $0.silentPushes.page(limit: 9) }.first?.payload)
      #expect(payload.components(separatedBy: #"{"in":"#).count == depth + 1)
      #expect(payload.contains("bottom"))
      #expect(bench.observer.commands.snapshot == [.restart])
    }

    @Test("does not end the program when it is nested without measure") func abyss() throws {
      var value: Any = "bottom"
      for _ in 0..<2000 { value = [value] }
      let bench = Bench()
      #expect(bench.push(["value": value, "aware_command": "restart", "kept": "yes"]) == .newData)
      let payload = try #require(try bench.stored { try $0.silentPushes.page(limit: 9) }.first?.payload)
      #expect(payload.contains(#""kept":"yes""#))
      #expect(bench.observer.commands.snapshot == [.restart])
    }
  }
}
