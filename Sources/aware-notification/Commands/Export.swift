import EncryptedSQLite
import Foundation
import NotificationStore

enum Export: Command {
  static let name = "export"
  static let summary = "write the records as plain JSON lines or CSV"
  static let usage =
    "--db PATH [--key-file FILE | --key-fd N] [--output FILE] [--format jsonl|csv] [--table NAME] [--after ID]"
  static let details = """
    Writes a JSON object a line with its table, or CSV of one table. What is exported is no longer encrypted:
    FILE is made for you alone (mode 0600) and must not exist; without --output it goes to standard output.
    """
  static let options =
    Option.store + [
      Option(name: "output", value: "FILE", help: "the file to make"),
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
    let target = try Target(arguments.value("output"))
    do {
      for table in tables {
        try store.export(table, format: format, after: after) { try target.write($0) }
      }
      try target.finish()
    } catch {
      target.discard()
      throw error
    }
    try store.close()
    return 0
  }

  /// Standard output, or a new file.
  private struct Target {
    private let path: String?
    private let descriptor: Int32

    init(_ path: String?) throws {
      self.path = path
      descriptor = try path.map { try FileSystem.createForOwner($0) } ?? STDOUT_FILENO
    }

    func write(_ bytes: [UInt8]) throws {
      try bytes.withUnsafeBytes { try FileSystem.write($0, to: descriptor, path ?? "standard output") }
    }

    func finish() throws {
      guard let path else { return }
      guard fsync(descriptor) == 0, close(descriptor) == 0 else { throw FileSystem.error("write", path, errno) }
      try FileSystem.syncFolder(of: path)
    }

    func discard() {
      if let path { unlink(path) }
    }
  }
}
