import CCommandLine
import EncryptedSQLite
import Foundation
import NotificationStore
import NotificationSync

enum Sync: Command {
  static let name = "sync"
  static let summary = "send what was recorded to the study's server"
  static let usage =
    "--db PATH [--key-file FILE | --key-fd N] --host HOST [--server-type TYPE] [OPTION...]"
  static let details = """
    Sends, in batches and in the order of their ids, the records that were not sent yet, over TLS only. A batch counts as
    sent on an answer that this kind of server gives for success, and on nothing else; without an answer it is sent again
    under the same idempotency key, so that the server can drop what it has. It does not wait for a time that an earlier
    failure asked for. A row too large for the server, or one that cannot be written as JSON, is set aside: it stays, and
    requeue sends it again. Safe to interrupt and to repeat.

    The exit status is 0 when everything was sent but for what is set aside, and 1 when something still waits; what stood
    in the way is on standard error.
    """
  static let options =
    Option.storeWithSpool + Option.upload + [
      Option(name: "from-start", help: "send everything once more; the server drops what it has"),
      Option(name: "dry-run", help: "send nothing: tell what would be sent, and where"), .json,
    ]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let path = try arguments.required("db")
    let upload = try Upload(arguments)
    if arguments.has("dry-run") { return try dryRun(arguments, upload) }
    let store = try NotificationStore(
      .init(path: path, key: try arguments.key(), previousKey: try arguments.previousKey(), creating: false))
    Output.errors(store.spool)
    defer { try? store.close() }
    let synchronizer = try Synchronizer(store, upload.settings(deviceId: store.deviceId))
    command_line_catch_interrupts()
    if arguments.has("from-start") { try store.startUploadsAnew() }
    let report = try finished(synchronizer)
    try arguments.has("json") ? Output.json(object(report)) : Output.write(text(report))
    tell(report)
    return report.isComplete ? 0 : 1
  }

  /// What stood in the way, once each: where nobody can be reached, all tables have the same to say.
  private static func tell(_ report: SyncReport) {
    for what in report.discarded { Output.error(what) }
    var told: [String] = []
    for table in report.tables {
      guard let error = table.error, !told.contains(error.message) else { continue }
      told.append(error.message)
      Output.error(error.code == .refused ? "\(table.name): \(error.message)" : error.message)
    }
  }

  /// Waits for the sync, and cancels it at an interrupt.
  private static func finished(_ synchronizer: Synchronizer) throws -> SyncReport {
    let progress = ProgressLine()
    defer { progress.end() }
    let result = Locked<Result<SyncReport, any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    let task = Task {
      do {
        result.replace(with: .success(try await synchronizer.sync(force: true) { progress.show("sending", $0) }))
      } catch {
        result.replace(with: .failure(error))
      }
      done.signal()
    }
    while done.wait(timeout: .now() + 0.1) == .timedOut {
      if command_line_interrupt() != 0 { task.cancel() }
    }
    guard let outcome = result.snapshot else { throw Synchronizer.cancelled }
    return try outcome.get()
  }

  private static func dryRun(_ arguments: Arguments, _ upload: Upload) throws -> Int32 {
    let status = try StoreStatus(path: try arguments.required("db"), key: try arguments.key())
    let settings = try upload.settings(deviceId: "device")
    let isAnew = arguments.has("from-start")
    let pending = status.tables.map { ($0.name, isAnew ? $0.count : $0.pending ?? $0.count) }
    if arguments.has("json") {
      try Output.json(["destination": settings.destination, "pending": Dictionary(uniqueKeysWithValues: pending)])
    } else {
      let tables = pending.map { "\($0): \($1) records to send\n" }.joined()
      try Output.write("nothing was sent. \(settings.destination)\n\(tables)")
    }
    return 0
  }

  private static func object(_ report: SyncReport) -> [String: Any] {
    let tables = report.tables.map { table in
      var object: [String: Any] = [
        "sent": table.sent, "duplicates": table.duplicates, "removed": table.removed, "setAside": table.setAside,
        "pending": table.pending, "batches": table.batches,
      ]
      object["error"] = table.error?.message
      object["errorCode"] = table.error?.code.rawValue
      return (table.name, object)
    }
    return [
      "complete": report.isComplete, "sent": report.sent, "discarded": report.discarded,
      "tables": Dictionary(uniqueKeysWithValues: tables),
    ]
  }

  private static func text(_ report: SyncReport) -> String {
    report.tables.map { table in
      var text = "\(table.name): \(table.sent) sent"
      if table.duplicates > 0 { text += " (\(table.duplicates) of them known to the server)" }
      if table.removed > 0 { text += ", \(table.removed) removed here" }
      if table.setAside > 0 { text += ", \(table.setAside) set aside" }
      return text + ", \(table.pending) waiting\n"
    }.joined()
  }
}

enum Requeue: Command {
  static let name = "requeue"
  static let summary = "let rows that were set aside be sent again"
  static let usage = "--db PATH [--key-file FILE | --key-fd N] [--previous-key-file FILE] [--json]"
  static let details = """
    Rows that the server found too large, or that could not be written as JSON, are set aside by sync, and stay in the
    store. After this the next sync tries them once more.
    """
  static let options = Option.storeWithSpool + [.json]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let store = try NotificationStore(
      .init(
        path: try arguments.required("db"), key: try arguments.key(), previousKey: try arguments.previousKey(),
        creating: false))
    Output.errors(store.spool)
    let count = try store.requeue()
    try store.close()
    try arguments.has("json") ? Output.json(["requeued": count]) : Output.write("requeued \(count) rows\n")
    return 0
  }
}
