import Foundation
import NotificationSync

/// Reads the dictionary that an app or a study configures a sensor with.
///
/// A key that is missing, null or of another type leaves the setting as it is.
struct ConfigDictionary {
  private let values: [String: Any]

  init(_ values: [String: Any]) { self.values = values }

  func read(_ key: String, into setting: inout String) {
    if let text = values[key] as? String { setting = text }
  }

  func read(_ key: String, into setting: inout String?) {
    if let text = values[key] as? String { setting = text }
  }

  func read(_ key: String, into setting: inout Bool) {
    if let flag = values[key] as? Bool { setting = flag }
  }

  func read(_ key: String, into setting: inout Int) {
    if let number = number(key) { setting = number }
  }

  /// 0 is none, 1 is SQLite; or the value itself.
  func read(_ key: String, into setting: inout DatabaseType) {
    if let type = values[key] as? DatabaseType {
      setting = type
    } else if let number = number(key) {
      switch number {
      case 0: setting = .none
      case 1: setting = .sqlite
      default: break
      }
    }
  }

  func read(_ key: String, into setting: inout ServerType) {
    if let type = values[key] as? ServerType ?? number(key).flatMap({ ServerType(rawValue: $0) }) { setting = type }
  }

  func value<Value>(_ key: String) -> Value? { values[key] as? Value }

  private func number(_ key: String) -> Int? {
    values[key] as? Int ?? (values[key] as? NSNumber).flatMap { Int(exactly: $0.doubleValue) }
  }
}
