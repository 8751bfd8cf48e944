import EncryptedSQLite
import NotificationStore

enum Encrypt: Command {
  static let name = "encrypt"
  static let summary = "turn a plaintext store of the public sensor into an encrypted one"
  static let usage =
    "--db PATH [--key-file FILE | --key-fd N] [--synced-through TABLE=ID]... [--device-id ID] [--json]"
  static let details = """
    Puts an encrypted store in the place of the plain SQLite file at PATH, with every record of it; the plain file
    is overwritten and removed. Every other program must have closed it. A file with tables of other sensors is left
    as it is. Safe to interrupt and to repeat: it goes on where it was cut short.
    """
  static let options =
    Option.store + [
      Option(
        name: "synced-through", value: "TABLE=ID", repeats: true,
        help: "records of TABLE up to ID have been uploaded (once a table); refused when TABLE never had that ID"),
      Option(name: "device-id", value: "ID", help: "the store's device id (default: that of the newest record)"), .json,
    ]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let path = try arguments.required("db")
    let syncedThrough = try syncedThrough(arguments.values("synced-through"))
    guard arguments.value("device-id") != "" else { throw UsageError("--device-id takes an id") }
    let key = try arguments.key()
    let report = try PlaintextStore.adopt(
      at: path, key: key, deviceId: arguments.value("device-id"), syncedThrough: syncedThrough)
    // Only of a store that opens under the key can it be said that it is encrypted already.
    if report == nil {
      _ = try StoreStatus(path: path, key: key)
      if arguments.has("synced-through") || arguments.has("device-id") {
        Output.error(
          "--synced-through and --device-id were not applied: they are for a plaintext store that is taken over")
      }
    }
    try arguments.has("json") ? Output.json(object(path, report)) : Output.write(text(path, report))
    return 0
  }

  private static func syncedThrough(_ values: [String]) throws -> [String: Int64] {
    var ids: [String: Int64] = [:]
    for value in values {
      let parts = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, NotificationStore.tables.contains(String(parts[0])), let id = Int64(parts[1]), id >= 0
      else {
        throw UsageError(
          "--synced-through takes TABLE=ID, with a table of \(NotificationStore.tables.joined(separator: ", "))")
      }
      guard ids.updateValue(id, forKey: String(parts[0])) == nil else {
        throw UsageError("--synced-through is given twice for \(parts[0])")
      }
    }
    return ids
  }

  private static func object(_ path: String, _ report: AdoptionReport?) -> [String: Any] {
    guard let report else { return ["path": path, "adopted": false] }
    return [
      "path": report.path, "adopted": true, "onlyFinished": report.isOnlyFinished, "counts": report.counts,
      "deviceId": report.deviceId,
    ]
  }

  private static func text(_ path: String, _ report: AdoptionReport?) -> String {
    guard let report else { return "nothing to do: \(path.escapingControls) is encrypted already\n" }
    let counts = NotificationStore.tables.map { "\($0): \(report.counts[$0] ?? 0) records\n" }.joined()
    let what =
      report.isOnlyFinished
      ? "removed the plaintext that an interrupted run had left beside" : "encrypted in its place:"
    return "\(what) \(report.path.escapingControls)\n\(counts)device id: \(report.deviceId.escapingControls)\n"
  }
}
