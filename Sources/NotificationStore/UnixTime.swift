import Foundation

/// Time as AWARE's records have it.
@usableFromInline
package enum UnixTime {
  /// Unix time in milliseconds.
  @usableFromInline
  package static func milliseconds() -> Int64 { Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)) }

  /// Minutes east of Greenwich in the device's time zone at that moment, given in Unix milliseconds.
  package static func offsetInMinutes(at milliseconds: Int64) -> Int {
    TimeZone.current.secondsFromGMT(for: Date(timeIntervalSince1970: Double(milliseconds) / 1000)) / 60
  }
}
