import Foundation

/// A push's `userInfo` as JSON text, whatever is in it.
///
/// Everything that JSON can hold is kept as it is; of a text, what is no Unicode (a lone surrogate) is written as U+FFFD.
/// The rest is written by this rule: a date as ISO 8601 text in UTC with
/// milliseconds, data as Base64, a URL as its text, numbers that are not finite as "NaN", "Infinity" and "-Infinity", a
/// key that is not a text as its description, and any other value as its description. What is nested deeper than
/// ``deepest`` levels, which JSON parsers refuse, is written as "…". Keys are sorted.
public enum PayloadJSON {
  /// JSONSerialization itself reads 512 levels.
  static let deepest = 500

  public static func text(_ payload: [AnyHashable: Any]) -> String {
    let object = encodable(payload)
    // `encodable` leaves nothing that JSONSerialization refuses; "{}" is there for the compiler.
    let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
    return data.map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }

  private static func encodable(_ value: Any, depth: Int = 1) -> Any {
    switch value {
    // A native copy: a text of Foundation's may hold lone surrogates, which JSONSerialization refuses.
    case let text as String: return native(text)
    case is NSNull: return value
    // Bool, every integer and every real. They go on as they came: a cast would make 1 of true.
    case let number as NSNumber: return notFinite(number) ?? value
    case is [AnyHashable: Any] where depth > deepest, is [Any] where depth > deepest: return "…"
    case let object as [AnyHashable: Any]:
      // Of two keys with one description, one stays.
      return Dictionary(object.map { (key($0.key), encodable($0.value, depth: depth + 1)) }) { first, _ in first }
    case let array as [Any]: return array.map { encodable($0, depth: depth + 1) }
    case let date as Date: return iso8601(date)
    case let data as Data: return data.base64EncodedString()
    case let url as URL: return native(url.absoluteString)
    default:
      // An optional that holds something has been taken for what it holds.
      let isNil = Mirror(reflecting: value).displayStyle == .optional
      return isNil ? NSNull() : native(String(describing: value))
    }
  }

  private static func key(_ key: AnyHashable) -> String { native(key.base as? String ?? String(describing: key.base)) }

  private static func native(_ text: String) -> String { String(decoding: text.utf8, as: UTF8.self) }

  private static func notFinite(_ number: NSNumber) -> String? {
    let value = number.doubleValue
    if value.isNaN { return "NaN" }
    return value.isInfinite ? (value < 0 ? "-Infinity" : "Infinity") : nil
  }

  private static func iso8601(_ date: Date) -> String {
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    return formatter.string(from: date)
  }
}
