import Foundation

/// JSON values compared as JSON has them: `true` is not 1, and integers keep every digit.
public enum JSON {
  public static func parse(_ text: String) -> Any? {
    try? JSONSerialization.jsonObject(with: Data(text.utf8), options: [.fragmentsAllowed])
  }

  public static func equal(_ left: String, _ right: String) -> Bool {
    guard let left = parse(left), let right = parse(right) else { return false }
    return equal(left, right)
  }

  public static func equal(_ left: Any, _ right: Any) -> Bool {
    switch (left, right) {
    case (let left as [String: Any], let right as [String: Any]):
      left.count == right.count && left.allSatisfy { key, value in right[key].map { equal(value, $0) } ?? false }
    case (let left as [Any], let right as [Any]):
      left.count == right.count && zip(left, right).allSatisfy { equal($0, $1) }
    case (is NSNull, is NSNull): true
    case (let left as String, let right as String): left == right
    case (let left as NSNumber, let right as NSNumber):
      isBool(left) == isBool(right) && left.isEqual(to: right)
    default: false
    }
  }

  private static func isBool(_ number: NSNumber) -> Bool {
    number === NSNumber(value: true) || "\(type(of: number))".contains("Bool")
  }
}
