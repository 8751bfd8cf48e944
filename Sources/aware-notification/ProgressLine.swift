import EncryptedSQLite
import Foundation

/// How far something is, on a terminal's last line. Silent elsewhere.
final class ProgressLine: Sendable {
  /// Held while something is written, so that nothing comes after the end.
  private let isOver = Locked(false)
  private let isShown = isatty(STDERR_FILENO) == 1

  /// - Parameter part: from 0 to 1.
  func show(_ what: String, _ part: Double) { show("\(what): \(Int(100 * min(1, part))) %") }

  func show(_ text: String) {
    guard isShown else { return }
    isOver.withLock { if !$0 { write("\r\(text)") } }
  }

  func end() {
    isOver.withLock { isOver in
      if isShown, !isOver { write("\r\u{1b}[K") }
      isOver = true
    }
  }

  private func write(_ text: String) {
    let bytes = Array(text.utf8)
    bytes.withUnsafeBytes { try? FileSystem.write($0, to: STDERR_FILENO, "standard error") }
  }
}
