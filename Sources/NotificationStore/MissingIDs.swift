/// Ids and ranges of ids, brought into order at the end.
struct MissingIDs {
  private var found: [ClosedRange<Int64>] = []
  private(set) var single: Set<Int64> = []

  mutating func insert(_ id: Int64) { single.insert(id) }

  mutating func insert(_ range: ClosedRange<Int64>) { found.append(range) }

  /// Ascending, without overlaps; neighbours are one range.
  var ranges: [ClosedRange<Int64>] {
    (found + single.map { $0...$0 }).sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { ranges, next in
      if let last = ranges.last, last.upperBound == .max || next.lowerBound <= last.upperBound + 1 {
        ranges[ranges.count - 1] = last.lowerBound...max(last.upperBound, next.upperBound)
      } else {
        ranges.append(next)
      }
    }
  }
}
