import Foundation

/// Reads the header that says when to come back (RFC 9110, section 10.2.3).
enum RetryAfter {
  /// Seconds from `now`, in Unix seconds; nil for what is neither a number of seconds nor a date, and for the past.
  static func seconds(_ text: String, now: Double) -> Double? {
    let text = text.trimmingCharacters(in: .whitespaces)
    if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      // However many digits.
      return Double(text).map { min($0, 1e9) }
    }
    return date(text).flatMap { $0 > now ? min($0 - now, 1e9) : nil }
  }

  /// An HTTP date in its preferred form (RFC 9110, section 5.6.7), in Unix seconds.
  static func date(_ text: String) -> Double? {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return formatter.date(from: text)?.timeIntervalSince1970
  }
}
