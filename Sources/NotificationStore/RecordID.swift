import EncryptedSQLite
import Foundation

/// Identities of records: UUIDs in lower case, 36 characters.
public enum RecordID {
  /// A new identity: a version 7 UUID (RFC 9562, section 5.7), 48 bits of Unix milliseconds and 74 random bits.
  ///
  /// In the order of time, so that the unique index grows at its end: with wholly random keys each insert into a large
  /// store would decrypt and encrypt a page of its own.
  public static func random() -> String { random(at: UnixTime.milliseconds()) }

  /// - Parameter time: Unix time in milliseconds. A clock that stands before 1970 gives identities of 1970.
  package static func random(at time: Int64) -> String {
    var bytes: (UInt64, UInt64) = (0, 0)
    return withUnsafeMutableBytes(of: &bytes) { bytes in
      PlatformCrypto.random(into: UnsafeMutableRawBufferPointer(rebasing: bytes[6...]))
      let now = UInt64(max(0, time))
      for index in 0..<6 { bytes[index] = UInt8(truncatingIfNeeded: now >> (40 - 8 * index)) }
      return text(UnsafeRawBufferPointer(bytes), version: 7)
    }
  }

  /// The identity that follows from `values` alone: a version 8 UUID (RFC 9562, section 5.8) of their digest.
  static func derived(from values: [SQLValue]) -> String {
    ContentDigest.bytes(of: values).withUnsafeBytes { text($0, version: 8) }
  }

  private static func text(_ bytes: UnsafeRawBufferPointer, version: UInt8) -> String {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 36) { text in
      var position = 0
      for index in 0..<16 {
        if index == 4 || index == 6 || index == 8 || index == 10 {
          text[position] = UInt8(ascii: "-")
          position += 1
        }
        let byte =
          switch index {
          case 6: bytes[6] & 0x0f | version << 4
          // The variant of RFC 9562, section 4.1.
          case 8: bytes[8] & 0x3f | 0x80
          default: bytes[index]
          }
        text[position] = Hexadecimal.digit(byte >> 4)
        text[position + 1] = Hexadecimal.digit(byte & 15)
        position += 2
      }
      return String(decoding: text, as: UTF8.self)
    }
  }

  /// The SQL condition that `recordId` is not a UUID in lower or upper case.
  static let isMalformed: String = {
    let digit = "[0-9a-f]"
    let form = [8, 4, 4, 4, 12].map { String(repeating: digit, count: $0) }.joined(separator: "-")
    return "NOT (typeof(recordId) = 'text' AND lower(recordId) GLOB '\(form)')"
  }()
}
