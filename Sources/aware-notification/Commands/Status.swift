import EncryptedSQLite
import Foundation
import NotificationStore

enum Status: Command {
  static let name = "status"
  static let summary = "tell what a store holds, without its content"
  static let usage = "--db PATH [--key-file FILE | --key-fd N] [--previous-key-file FILE] [--json]"
  static let details = """
    Prints version, cipher, sizes, for each table the number of records, how many were not sent yet or were set aside,
    and what went wrong with the last upload, and what waits in the spool.
    """
  static let options = Option.storeWithSpool + [.json]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let status = try StoreStatus(
      path: try arguments.required("db"), key: try arguments.key(), previousKey: try arguments.previousKey())
    try arguments.has("json") ? Output.json(object(status)) : Output.write(text(status))
    return 0
  }

  private static func object(_ status: StoreStatus) -> [String: Any] {
    // Loops: the optimizer of Swift 6.3.1 aborts on closures within closures in a dictionary literal.
    var counts: [String: Any] = [:]
    var pending: [String: Any] = [:]
    var uploads: [String: Any] = [:]
    for table in status.tables {
      counts[table.name] = table.count
      if let count = table.pending { pending[table.name] = count }
      if let upload = table.uploads { uploads[table.name] = object(upload) }
    }
    return [
      "path": status.path, "jsonVersion": status.jsonVersion, "currentJsonVersion": status.currentVersion,
      "cipherVersion": status.cipher.libraryVersion, "fileFormat": status.cipher.generation,
      "keyKind": status.keyKind, "readableHeader": status.cipher.hasReadableHeader, "journalMode": status.journalMode,
      "fileSize": status.fileSize,
      "logSize": status.logSize, "spooled": status.spool.waiting, "spoolDamaged": status.spool.damaged,
      "spoolFaults": status.spool.faults.map(\.message), "counts": counts, "pending": pending, "uploads": uploads,
    ]
  }

  private static func object(_ uploads: StoreStatus.Uploads) -> [String: Any] {
    var object: [String: Any] = [
      "pending": uploads.pending, "inFlight": uploads.inFlight, "quarantined": uploads.quarantined,
    ]
    object["lastSent"] = uploads.lastSent
    object["lastError"] = uploads.lastError
    object["notBefore"] = uploads.notBefore
    return object
  }

  private static func text(_ uploads: StoreStatus.Uploads) -> String {
    var text = ", \(uploads.pending) not sent"
    if uploads.inFlight > 0 { text += " (\(uploads.inFlight) of them in a batch that goes out again)" }
    if uploads.quarantined > 0 { text += ", \(uploads.quarantined) set aside (requeue sends them again)" }
    if let sent = uploads.lastSent { text += "\n  last sent: \(date(sent))" }
    if let error = uploads.lastError { text += "\n  last error: \(error.escapingControls)" }
    if let time = uploads.notBefore { text += "\n  next attempt: \(date(time))" }
    return text
  }

  private static func date(_ milliseconds: Int64) -> String {
    ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: Double(milliseconds) / 1000))
  }

  private static func text(_ status: StoreStatus) -> String {
    let isCurrent = status.jsonVersion == status.currentVersion
    let isOlder = status.cipher.isOlderThanLibrary
    let tables = status.tables.map { table in
      "\(table.name): \(table.count) records" + (table.uploads.map(text) ?? "")
    }
    return """
      store: \(status.path.escapingControls)
      jsonVersion: \(status.jsonVersion)\(isCurrent ? "" : " (migrate brings it to \(status.currentVersion))")
      cipher: SQLCipher \(status.cipher.libraryVersion), file format \(status.cipher.generation)\
      \(isOlder ? " (written by an older SQLCipher; it is used as it is)" : "")\
      \(status.cipher.hasReadableHeader ? "\nheader: readable" : "")
      key: \(status.keyKind)
      size: \(status.fileSize) bytes, write-ahead log \(status.logSize) bytes (journal mode \(status.journalMode))
      \(tables.joined(separator: "\n"))\(text(status.spool))

      """
  }

  private static func text(_ spool: SpoolReport) -> String {
    guard spool.waiting > 0 || !spool.faults.isEmpty else { return "" }
    let faults = spool.faults.map { "\n  " + $0.message.escapingControls }.joined()
    return
      "\nspool: \(spool.waiting) \(spool.waiting == 1 ? "push waits" : "pushes wait") for the next program that writes\(faults)"
  }
}
