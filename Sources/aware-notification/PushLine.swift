import Foundation
import NotificationStore
import com_awareframework_ios_sensor_notification

/// One line of `record`'s input: a bare APNs payload, or an envelope with `id`, `receivedAt`, `bundle` and `payload`.
struct PushLine {
  struct Malformed: Error {
    let reason: String
  }

  private let payload: [AnyHashable: Any]
  private let id: String
  private let receivedAt: Int64?
  private let bundle: String

  /// - Throws: ``Malformed``, whose reason holds nothing of the line itself.
  init(_ line: some Sequence<UInt8>) throws {
    guard let value = try? JSONSerialization.jsonObject(with: Data(line)) else {
      throw Malformed(reason: "this is not JSON")
    }
    guard let object = value as? [String: Any] else { throw Malformed(reason: "this is not a JSON object") }
    guard object["aps"] == nil, let value = object["payload"] else {
      (payload, id, receivedAt, bundle) = (object, "", nil, "")
      return
    }
    guard let payload = value as? [String: Any] else { throw Malformed(reason: "payload is not a JSON object") }
    let known: Set = ["id", "receivedAt", "bundle", "payload"]
    guard known.isSuperset(of: object.keys) else {
      throw Malformed(reason: "beside payload there may be id, receivedAt and bundle, and nothing else")
    }
    self.payload = payload
    id = try Self.text("id", object)
    bundle = try Self.text("bundle", object)
    receivedAt = try Self.time("receivedAt", object)
  }

  /// - Parameter bundle: the app, where the line does not say.
  func push(bundle fallback: String) -> PushPayload {
    PushPayload(
      payload: payload, identifier: id, bundle: bundle.isEmpty ? fallback : bundle,
      receivedAt: receivedAt ?? UnixTime.milliseconds())
  }

  /// To the end of the year 9999: beyond are slips of the unit, such as microseconds.
  private static let times: ClosedRange<Int64> = 0...253_402_300_799_999

  private static func text(_ key: String, _ object: [String: Any]) throws -> String {
    switch object[key] {
    case nil, is NSNull: return ""
    case let text as String: return text
    default: throw Malformed(reason: "\(key) is not a text")
    }
  }

  private static func time(_ key: String, _ object: [String: Any]) throws -> Int64? {
    switch object[key] {
    case nil, is NSNull: return nil
    case let number as NSNumber:
      guard let milliseconds = Int64(exactly: number), times.contains(milliseconds) else { fallthrough }
      return milliseconds
    default: throw Malformed(reason: "\(key) is not a time in Unix milliseconds")
    }
  }
}
