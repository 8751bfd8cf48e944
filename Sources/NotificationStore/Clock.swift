import Foundation

/// Time as AWARE's records have it.
public enum Clock {
  /// Unix time in milliseconds.
  public static func milliseconds() -> Int64 { Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)) }

  /// Minutes east of Greenwich in the device's time zone at that moment, given in Unix milliseconds.
  public static func offsetInMinutes(at milliseconds: Int64) -> Int {
    TimeZone.current.secondsFromGMT(for: Date(timeIntervalSince1970: Double(milliseconds) / 1000)) / 60
  }
}
