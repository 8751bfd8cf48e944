import CCommandLine
import EncryptedSQLite
import Foundation
import NotificationStore

enum Restore: Command {
  static let name = "restore"
  static let summary = "put a backup in a store's place"
  static let usage = "--db PATH [--key-file FILE | --key-fd N] --from FILE [--backup-key-file KEY] [--json]"
  static let details = """
    Proves the backup in FILE and puts a copy of it at PATH, under the store's key. A store that is there stays until the
    copy is complete, and nobody else may have it open; one that does not open under the key is left alone.
    """
  static let options =
    Option.store + [
      Option(name: "from", value: "FILE", help: "the backup"),
      Option(name: "backup-key-file", value: "KEY", help: "the backup's key, where it is another one"), .json,
    ]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let path = try arguments.required("db")
    let backup = try arguments.required("from")
    let key = try arguments.key(making: path)
    let backupKey = try arguments.value("backup-key-file").map { try KeyFile.read($0) }
    command_line_catch_interrupts()
    do {
      let report = try NotificationStore.restore(
        path, key: key, from: backup, backupKey: backupKey, isInterrupted: { command_line_interrupt() != 0 })
      try arguments.has("json") ? Output.json(report.object) : Output.write("restored \(report.text)")
      return 0
    } catch let error as DatabaseError where error.code == .cancelled && command_line_interrupt() != 0 {
      Output.error(error.message)
      return 128 + command_line_interrupt()
    }
  }
}
