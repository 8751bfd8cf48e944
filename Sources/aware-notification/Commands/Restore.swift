import CCommandLine
import EncryptedSQLite
import Foundation
import NotificationStore

enum Restore: Command {
  static let name = "restore"
  static let summary = "put a backup in a store's place, or salvage a damaged one"
  static let usage =
    "--db PATH [--key-file FILE | --key-fd N] --from FILE [--backup-key-file KEY | --salvage [--page-size N] "
    + "[--kdf-iterations N]] [--json]"
  static let details = """
    Proves the backup in FILE and puts a copy of it at PATH, under the store's key. A store that is there stays until the
    copy is complete, and nobody else may have it open; one that does not open under the key is left alone.

    With --salvage FILE is a damaged store, which nobody may have open and which is only read: every record past the
    damage goes into a new store at PATH, under the same key, and what was lost is told: then the exit status is 1.
    Nothing may be at PATH, and interrupted it leaves nothing there. A store with another page size or number of rounds
    than its generation's defaults is opened with --page-size and --kdf-iterations.
    """
  static let options =
    Option.store + [
      Option(name: "from", value: "FILE", file: .ordinary, help: "the backup, or the damaged store"),
      Option(
        name: "backup-key-file", value: "KEY", file: .secret, stream: .input,
        help: "the backup's key, where it is another one"),
      Option(name: "salvage", help: "read past damage, and tell what was lost"),
    ] + Option.cipherSettings + [.json]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let (source, path) = (try arguments.required("from"), try arguments.required("db"))
    let settings = try arguments.cipherSettings()
    if arguments.has("salvage") {
      guard !arguments.has("backup-key-file") else {
        throw UsageError("--salvage makes a store under the damaged one's key: leave --backup-key-file out")
      }
      let key = try arguments.key()
      command_line_catch_interrupts()
      let report = try StoreSalvage.salvage(
        source, into: path, key: key, settings: settings ?? .init(), isInterrupted: { command_line_interrupt() != 0 })
      try arguments.has("json") ? Output.json(object(report)) : Output.write(text(report))
      return report.isWhole ? 0 : 1
    }
    guard settings == nil else { throw UsageError("--page-size and --kdf-iterations go with --salvage") }
    let key = try arguments.key(making: path)
    let backupKey = try arguments.key(inFileOf: "backup-key-file")
    command_line_catch_interrupts()
    let report = try NotificationStore.restore(
      path, key: key, from: source, backupKey: backupKey, isInterrupted: { command_line_interrupt() != 0 })
    try arguments.has("json") ? Output.json(report.object) : Output.write("restored \(report.text)")
    return 0
  }

  private static func object(_ report: SalvageReport) -> [String: Any] {
    let tables = report.tables.map { table in
      [
        "name": table.name, "saved": table.saved, "found": table.isFound, "exact": table.isExact,
        "missing": table.missing.map { [$0.lowerBound, $0.upperBound] },
      ] as [String: Any]
    }
    return [
      "from": report.source, "path": report.path, "whole": report.isWhole, "tables": tables,
      "lostCursors": report.lostCursors, "deviceId": report.deviceId.rawValue,
      "allProperties": report.hasAllProperties, "log": logObject(report.log),
    ]
  }

  private static func logObject(_ log: SalvageReport.Log) -> [String: Any] {
    switch log {
    case .none: ["state": "none"]
    case .read: ["state": "read"]
    case .damaged(let commits): ["state": "damaged", "lostCommits": commits]
    }
  }

  private static func text(_ report: SalvageReport) -> String {
    var lines = ["salvaged: \(report.path.escapingControls)" + (report.isWhole ? ", nothing was lost" : "")]
    lines += report.tables.map { "\($0.name): \($0.saved) saved\(lost($0))" }
    if !report.lostCursors.isEmpty {
      lines.append(
        "the upload cursor is lost, all records count as not sent: \(report.lostCursors.joined(separator: ", "))")
    }
    switch report.deviceId {
    case .saved: break
    case .fromRecords: lines.append("the device id is lost, and taken from the newest record")
    case .new: lines.append("the device id is lost, and a new one was made")
    }
    if !report.hasAllProperties { lines.append("some properties of the store are lost") }
    if case .damaged(let commits) = report.log {
      lines.append("the write-ahead log is damaged: what was committed behind the damage (\(commits)) is lost")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func lost(_ table: SalvageReport.Table) -> String {
    guard table.isFound else { return "; all of it is lost" }
    guard !table.missing.isEmpty else { return "" }
    let shown = 20
    let ranges = table.missing.prefix(shown).map { range in
      range.lowerBound == range.upperBound ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
    }
    let more = table.missing.count > shown ? " and \(table.missing.count - shown) more ranges (--json has all)" : ""
    return "; lost\(table.isExact ? "" : ", at most"): \(ranges.joined(separator: ", "))\(more)"
  }
}
