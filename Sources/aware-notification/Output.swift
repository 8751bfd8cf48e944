import EncryptedSQLite
import Foundation
import NotificationStore

/// Results go to standard output, messages to standard error.
enum Output {
  static func write(_ text: String) throws { try write(Array(text.utf8)) }

  static func write(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try FileSystem.write($0, to: STDOUT_FILENO, "standard output") }
  }

  private static let concealments = Locked<[Concealment]>([])

  /// From now on no message repeats that text.
  static func conceal(_ concealment: Concealment?) {
    guard let concealment else { return }
    concealments.withLock { $0.append(concealment) }
  }

  /// A line on standard error. A message that cannot be written has nowhere else to go.
  static func error(_ message: String) {
    let message = concealments.snapshot.reduce(message) { $1.applied(to: $0) }
    let line = Array("aware-notification: \(message.escapingControls)\n".utf8)
    line.withUnsafeBytes { try? FileSystem.write($0, to: STDERR_FILENO, "standard error") }
  }

  /// What an opening of the store could not import.
  static func errors(_ spool: SpoolReport) { spool.faults.forEach { error($0.message) } }

  static func json(_ object: Any) throws {
    let data = try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
    try write(Array(data) + [UInt8(ascii: "\n")])
  }
}

extension String {
  /// The text with control and direction-changing characters written as `\u{…}`: a push must not be able to drive the
  /// terminal that shows it, or to change how a line reads.
  var escapingControls: String {
    guard unicodeScalars.contains(where: \.isControlling) else { return self }
    return unicodeScalars.reduce(into: "") { text, scalar in
      switch scalar {
      case "\n": text += "\\n"
      case "\t": text += "\\t"
      case _ where scalar.isControlling: text += "\\u{\(String(scalar.value, radix: 16))}"
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}

extension Unicode.Scalar {
  fileprivate var isControlling: Bool {
    switch value {
    case 0..<0x20, 0x7f..<0xa0, 0x61c, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069: true
    default: false
    }
  }
}
