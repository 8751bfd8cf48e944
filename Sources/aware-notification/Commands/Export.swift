import CCommandLine
import EncryptedSQLite
import Foundation
import NotificationStore

enum Export: Command {
  static let name = "export"
  static let summary = "write the records as plain JSON lines or CSV"
  static let usage =
    "--db PATH [--key-file FILE | --key-fd N] [--output FILE] [--format jsonl|csv] [--table NAME] [--after ID]"
  static let details = """
    Writes a JSON object a line with its table, or CSV of one table. Where the lines are of several tables, each has the
    columns of all, null where its own has none. What is exported is no longer encrypted:
    FILE is made for you alone (mode 0600) and must not exist; it appears complete, or not at all. Without
    --output the records go to standard output.
    """
  static let options =
    Option.store + [
      Option(
        name: "output", value: "FILE", file: .ordinary, stream: .output, help: "the file to make (-: standard output)"),
      Option(name: "format", value: "FORMAT", help: "jsonl (default), or csv, which needs --table"),
      .table("only this table"),
      Option(name: "after", value: "ID", help: "only records with a higher id"),
    ]

  static func run(_ arguments: Arguments) throws -> Int32 {
    guard let format = ExportFormat(rawValue: arguments.value("format") ?? "jsonl") else {
      throw UsageError("--format is jsonl or csv")
    }
    if format == .csv, !arguments.has("table") {
      throw UsageError("--format csv needs --table, for the tables have different columns")
    }
    let tables = try arguments.tables()
    let after = try arguments.integer("after") ?? 0
    let store = try arguments.openForReading()
    func export(to write: ([UInt8]) throws -> Void) throws {
      for table in tables { try store.export(table, format: format, after: after, beside: tables, to: write) }
    }
    if let path = arguments.value("output"), path != "-" {
      try makeFile(path, export)
    } else {
      try export(to: Output.write)
    }
    try store.close()
    return 0
  }

  /// Makes the file at `path` of what `export` writes. An interrupt leaves nothing.
  private static func makeFile(_ path: String, _ export: (([UInt8]) throws -> Void) throws -> Void) throws {
    // Before all is written in vain.
    guard access(path, F_OK) != 0 else { throw FileSystem.error("make", path, EEXIST) }
    command_line_catch_interrupts()
    try NewFile.make(path) { aside in
      let descriptor = open(aside, O_WRONLY | O_CLOEXEC)
      guard descriptor >= 0 else { throw FileSystem.error("write", path, errno) }
      defer { close(descriptor) }
      try export { bytes in
        try bytes.withUnsafeBytes { try FileSystem.write($0, to: descriptor, path) }
        let signal = command_line_interrupt()
        guard signal == 0 else { throw Interruption(signal: signal) }
      }
    }
  }
}
