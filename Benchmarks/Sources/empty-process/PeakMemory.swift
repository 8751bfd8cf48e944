import Foundation

enum PeakMemory {
  /// The most that this process had resident. Not getrusage's, which begins with what its parent had.
  static func kibibytes() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
  }
}
