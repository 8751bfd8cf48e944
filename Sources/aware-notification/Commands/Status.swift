import EncryptedSQLite
import NotificationStore

enum Status: Command {
  static let name = "status"
  static let summary = "tell what a store holds, without its content"
  static let usage = "--db PATH [--key-file FILE | --key-fd N] [--json]"
  static let details = """
    Prints version, cipher, sizes, and for each table the number of records and of those not yet sent.
    """
  static let options = Option.store + [.json]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let status = try StoreStatus(path: try arguments.required("db"), key: try arguments.key())
    try arguments.has("json") ? Output.json(object(status)) : Output.write(text(status))
    return 0
  }

  private static func object(_ status: StoreStatus) -> [String: Any] {
    [
      "path": status.path, "jsonVersion": status.jsonVersion, "currentJsonVersion": status.currentVersion,
      "cipherVersion": status.cipher.libraryVersion, "fileFormat": status.cipher.generation,
      "journalMode": status.journalMode, "fileSize": status.fileSize, "logSize": status.logSize,
      "counts": Dictionary(uniqueKeysWithValues: status.tables.map { ($0.name, $0.count) }),
      "pending": Dictionary(
        uniqueKeysWithValues: status.tables.compactMap { table in table.pending.map { (table.name, $0) } }),
    ]
  }

  private static func text(_ status: StoreStatus) -> String {
    let isCurrent = status.jsonVersion == status.currentVersion
    let isOlder = status.cipher.isOlderThanLibrary
    let tables = status.tables.map { table in
      "\(table.name): \(table.count) records" + (table.pending.map { ", \($0) not sent" } ?? "")
    }
    return """
      store: \(status.path.escapingControls)
      jsonVersion: \(status.jsonVersion)\(isCurrent ? "" : " (migrate brings it to \(status.currentVersion))")
      cipher: SQLCipher \(status.cipher.libraryVersion), file format \(status.cipher.generation)\
      \(isOlder ? " (written by an older SQLCipher; it is used as it is)" : "")
      size: \(status.fileSize) bytes, write-ahead log \(status.logSize) bytes (journal mode \(status.journalMode))
      \(tables.joined(separator: "\n"))

      """
  }
}
