import Foundation

/// What this process takes of the machine's memory, in KiB.
enum Memory {
  /// The most that was resident, the code of shared libraries included. Not getrusage's, which begins with what the
  /// parent had.
  static func peak() throws -> Int { try value("VmHWM:") }

  /// What is its own and can be given back by nobody else, as iOS counts an extension's memory.
  static func own() throws -> Int { try value("RssAnon:") }

  private static func value(_ name: String) throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
  }
}
