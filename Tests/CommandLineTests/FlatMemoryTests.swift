import Foundation
import NotificationStore
import TestSupport
import Testing

/// Memory does not grow with the store. `FULL_SCALE=1` goes through a million rows.
@Suite(.enabled(if: !Campaign.isSanitized, "sanitizers have memory of their own"))
struct FlatMemoryTests {
  private static let isFullScale = ProcessInfo.processInfo.environment["FULL_SCALE"] != nil
  /// What a process may take, in KiB; a Swift program with Foundation and libcurl starts at about 30 MB.
  private static let limit = 48 << 10

  @Test func listExportAndRecordStayFlat() throws {
    let study = Study()
    let rows = Self.isFullScale ? 1_000_000 : 20_000
    let store = try NotificationStore(.init(path: study.database, key: Keys.raw))
    for start in stride(from: 0, to: rows, by: 5000) {
      try store.notifications.insert(
        (start..<(start + 5000)).map { number in
          var data = NotificationData(timestamp: Int64(number))
          (data.title, data.body) = ("title \(number)", String(repeating: "text ", count: 20))
          return data
        })
    }
    try store.close()
    let few = try study.peakMemory("list", ["--limit", "10"])
    for command in [
      ["list"], ["list", "--json"], ["export"], ["export", "--format", "csv", "--table", "ios_notification"],
    ] {
      let peak = try study.peakMemory(command[0], Array(command.dropFirst()))
      #expect((1...Self.limit).contains(peak), "\(command) took \(peak) KiB")
      #expect(peak - few < 6 << 10, "\(command) grew by \(peak - few) KiB")
    }
    let lines = Self.isFullScale ? 100_000 : 10_000
    let peak = try study.peakMemory("record", [study.folder.write("pushes", Study.pushes(lines))])
    #expect((1...Self.limit).contains(peak), "record took \(peak) KiB")
  }

  @Test func cursorAndPagesStayFlat() throws {
    let study = Study()
    let keyFile = study.keyFile
    let rows = Self.isFullScale ? 1_000_000 : 20_000
    let result = try Program.run(Program.helper, ["scan", study.database, keyFile, "\(rows)"])
    #expect(result.status == 0 && result.lines.count == 2)
    let growth = try #require(Int(result.lines[0].dropFirst("grew ".count)))
    #expect(growth < 6 << 10, "going through \(rows) rows took \(growth) KiB more than a page")
  }
}
