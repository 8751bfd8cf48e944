import Foundation
import NotificationStore
import com_awareframework_ios_sensor_notification

/// One line of `record`'s input: a bare APNs payload, or an envelope with `id`, `receivedAt`, `bundle` and `payload`.
struct PushLine {
  struct Malformed: Error {
    let reason: String
  }

  private let payload: [AnyHashable: Any]
  private let text: String
  private let id: String
  private let receivedAt: Int64?
  private let bundle: String

  /// - Throws: ``Malformed``, whose reason holds nothing of the line itself.
  init(_ line: ArraySlice<UInt8>) throws {
    guard let value = try? JSONScanner.value(of: line) else { throw Malformed(reason: "this is not JSON") }
    guard case .object(let members) = value else { throw Malformed(reason: "this is not a JSON object") }
    guard members["aps"] == nil, let payload = members["payload"] else {
      (self.payload, text) = (Self.read(members), String(decoding: line.trimmingBlanks, as: UTF8.self))
      (id, receivedAt, bundle) = ("", nil, "")
      return
    }
    guard case .object(let contents) = payload.value else {
      throw Malformed(reason: "payload is not a JSON object")
    }
    let known = ["id", "receivedAt", "bundle", "payload"]
    guard members.allSatisfy({ known.contains($0.key) }) else {
      throw Malformed(reason: "beside payload there may be id, receivedAt and bundle, and nothing else")
    }
    self.payload = Self.read(contents)
    text = String(decoding: line.dropFirst(payload.range.lowerBound).prefix(payload.range.count), as: UTF8.self)
    id = try Self.text("id", members)
    bundle = try Self.text("bundle", members)
    receivedAt = try Self.time("receivedAt", members)
  }

  /// Those members of a payload that are looked at; the rest is in its text only.
  private static func read(_ members: [JSONValue.Member]) -> [AnyHashable: Any] {
    let keys = ["aps", NotificationCommand.payloadKey, NotificationCommand.configURLKey]
    let values = keys.compactMap { key in members[key].map { (AnyHashable(key), $0.value.foundation) } }
    return Dictionary(uniqueKeysWithValues: values)
  }

  /// - Parameter bundle: the app, where the line does not say.
  func push(bundle fallback: String) -> PushPayload {
    PushPayload(
      payload: payload, text: text, identifier: id, bundle: bundle.isEmpty ? fallback : bundle,
      receivedAt: receivedAt ?? UnixTime.milliseconds())
  }

  /// To the end of the year 9999: beyond are slips of the unit, such as microseconds.
  private static let times: ClosedRange<Int64> = 0...253_402_300_799_999

  private static func text(_ key: String, _ members: [JSONValue.Member]) throws -> String {
    switch members[key]?.value {
    case nil, .null: return ""
    case .text(let text): return text
    default: throw Malformed(reason: "\(key) is not a text")
    }
  }

  private static func time(_ key: String, _ members: [JSONValue.Member]) throws -> Int64? {
    switch members[key]?.value {
    case nil, .null: return nil
    case .number(let text):
      guard let milliseconds = Int64(text) ?? Double(text).flatMap(Int64.init(exactly:)), times.contains(milliseconds)
      else { fallthrough }
      return milliseconds
    default: throw Malformed(reason: "\(key) is not a time in Unix milliseconds")
    }
  }
}

extension ArraySlice<UInt8> {
  fileprivate var trimmingBlanks: ArraySlice<UInt8> {
    let first = drop(while: JSONScanner.isBlank)
    guard let last = first.lastIndex(where: { !JSONScanner.isBlank($0) }) else { return [] }
    return first[...last]
  }
}
