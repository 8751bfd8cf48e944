import CCommandLine
import EncryptedSQLite
import Foundation
import NotificationStore

enum Backup: Command {
  static let name = "backup"
  static let summary = "copy a store, encrypted, while others use it"
  static let usage =
    "--db PATH [--key-file FILE | --key-fd N] --output FILE [--backup-key-file KEY] [--verify] [--json]"
  static let details = """
    Writes a copy of the store, as it is now, to FILE, which must not exist. Others go on writing meanwhile. The copy is
    encrypted under the store's key, or the one in KEY, and read back before it gets its name; --verify then also makes
    the checks of the command of that name. Interrupted, it leaves no FILE.
    """
  static let options =
    Option.store + [
      Option(name: "output", value: "FILE", file: .ordinary, help: "the copy"),
      Option(
        name: "backup-key-file", value: "KEY", file: .secret, stream: .input,
        help: "the copy's key, where it is another one"),
      Option(name: "verify", help: "check the copy as verify does"), .json,
    ]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let path = try arguments.required("db")
    let output = try arguments.required("output")
    let key = try arguments.key()
    let backupKey = try arguments.key(inFileOf: "backup-key-file")
    command_line_catch_interrupts()
    let report = try Database.backUp(path, key: key, to: output, backupKey: backupKey) { _ in
      command_line_interrupt() == 0
    }
    let waiting = NotificationSpool(besideStore: try FileSystem.absolute(path)).inspect([key]).waiting
    if waiting > 0 {
      Output.error(
        "\(waiting) \(waiting == 1 ? "push waits" : "pushes wait") in the spool and \(waiting == 1 ? "is" : "are") not in the "
          + "backup: open the store for writing first, as sync does")
    }
    if arguments.has("verify") { try verify(report.path, backupKey ?? key) }
    try arguments.has("json") ? Output.json(report.object) : Output.write("backed up to \(report.text)")
    return 0
  }

  private static func verify(_ path: String, _ key: EncryptionKey) throws {
    let verification = try StoreVerification(path: path, key: key)
    guard !verification.isSound else { return }
    let faults = verification.checks.flatMap(\.faults).prefix(3).joined(separator: "; ")
    throw DatabaseError(
      .corrupt, "the backup is written to \(path), and holds the store's own faults (\(faults)): run verify on both")
  }
}

extension BackupReport {
  var object: [String: Any] {
    [
      "path": path, "pages": pages, "fileFormat": generation,
      "counts": counts.filter { NotificationStore.tables.contains($0.key) },
    ]
  }

  var text: String {
    let tables = NotificationStore.tables.compactMap { table in counts[table].map { "\(table): \($0) records\n" } }
    return "\(path.escapingControls)\n\(tables.joined())\(pages) pages, file format \(generation)\n"
  }
}
