import Dispatch
import Foundation

/// One piece of work done by hand-written C, or what else the library is held against, and by the library, in turn.
struct Measure {
  let name: String
  /// The rows, transactions or openings of one round.
  let count: Int
  private var seconds: (c: [Double], library: [Double]) = ([], [])

  init(_ name: String, count: Int) {
    self.name = name
    self.count = count
  }

  /// Times the work that it is given, so that what a side does before and after does not count.
  typealias Timer = (() throws -> Void) throws -> Void

  /// Runs both sides once.
  mutating func round(c: (Timer) throws -> Void, library: (Timer) throws -> Void) throws {
    seconds.c.append(try Self.time(c))
    seconds.library.append(try Self.time(library))
  }

  /// As ``round(c:library:)``, for work whose time the library tells itself, in seconds.
  mutating func round(c: (Timer) throws -> Void, librarySeconds: () throws -> Double) throws {
    seconds.c.append(try Self.time(c))
    seconds.library.append(try librarySeconds())
  }

  private static func time(_ side: (Timer) throws -> Void) throws -> Double {
    var nanoseconds: UInt64 = 0
    try side { work in
      let start = DispatchTime.now().uptimeNanoseconds
      try work()
      nanoseconds += DispatchTime.now().uptimeNanoseconds - start
    }
    return Double(nanoseconds) / 1e9
  }

  static let heading = heading(against: "raw C")

  static func heading(against other: String) -> String {
    line("per second, medians", other, "library", "ratio")
  }

  var line: String {
    let ratio = Self.median(zip(seconds.c, seconds.library).map { $0 / $1 })
    return Self.line(
      name, Self.rate(Double(count) / Self.median(seconds.c)), Self.rate(Double(count) / Self.median(seconds.library)),
      String(format: "%.2f", ratio))
  }

  private static func line(_ name: String, _ c: String, _ library: String, _ ratio: String) -> String {
    let columns = [(c, 12), (library, 12), (ratio, 14)]
    return name.padding(toLength: 48, withPad: " ", startingAt: 0)
      + columns.map { String(repeating: " ", count: max(0, $1 - $0.count)) + $0 }.joined()
  }

  private static func rate(_ value: Double) -> String {
    let digits = String(Int(value.rounded()))
    var grouped = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { grouped += "," }
      grouped.append(digit)
    }
    return grouped
  }

  private static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}
