import Foundation

/// Reads lines from a descriptor with bounded memory.
struct LineReader {
  enum Line {
    case text(ArraySlice<UInt8>)
    /// A line longer than any push can be; it was passed over.
    case tooLong
    case end
    /// A signal came before a whole line.
    case interrupted
    case failed(errno: Int32)
  }

  /// APNs takes 4 KiB a push (5 for VoIP); an envelope and escapes add to that.
  static let longestLine = 1 << 20

  private let descriptor: Int32
  private let isInterrupted: () -> Bool
  private var buffer: [UInt8] = []
  /// What of `buffer` is still to be given out.
  private var start = 0
  /// Up to here there is no line break.
  private var searched = 0
  private var isAtEnd = false
  private var isSkipping = false

  init(_ descriptor: Int32, isInterrupted: @escaping () -> Bool) {
    self.descriptor = descriptor
    self.isInterrupted = isInterrupted
  }

  /// Whether the next line can be had without waiting.
  mutating func isReady() -> Bool {
    if isAtEnd || buffer[searched...].contains(UInt8(ascii: "\n")) { return true }
    return isReadable(within: 0)
  }

  /// A signal may reach another thread, or come just before a read begins: waiting is done in turns of this many
  /// milliseconds, so that it is seen.
  private static let patience: Int32 = 100

  private func isReadable(within milliseconds: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&request, 1, milliseconds) > 0
  }

  mutating func next() -> Line {
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer {
          start = end + 1
          searched = start
        }
        let isTooLong = isSkipping || end - start > Self.longestLine
        isSkipping = false
        return isTooLong ? .tooLong : .text(buffer[start..<end])
      }
      searched = buffer.count
      if isAtEnd { return last() }
      if isInterrupted() { return .interrupted }
      if buffer.count - start > Self.longestLine {
        isSkipping = true
        start = buffer.count
      }
      if let failure = isReadable(within: Self.patience) ? fill() : nil { return failure }
    }
  }

  private mutating func last() -> Line {
    defer { start = buffer.count }
    if isSkipping || buffer.count - start > Self.longestLine {
      isSkipping = false
      return .tooLong
    }
    return start < buffer.count ? .text(buffer[start...]) : .end
  }

  private mutating func fill() -> Line? {
    buffer.removeSubrange(..<start)
    start = 0
    searched = buffer.count
    let count = buffer.count
    let size = 1 << 16
    buffer.append(contentsOf: repeatElement(0, count: size))
    let received = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress.map { $0 + count }, size) }
    let reason = errno
    buffer.removeSubrange((count + max(0, received))...)
    if received == 0 { isAtEnd = true }
    return received < 0 && reason != EINTR ? .failed(errno: reason) : nil
  }
}
