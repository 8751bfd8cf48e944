import EncryptedSQLite
import NotificationStore

enum Wipe: Command {
  static let name = "wipe"
  static let summary = "remove every record, as when a participant withdraws"
  static let usage = "--db PATH [--key-file FILE | --key-fd N] --yes"
  static let details = """
    Deletes all rows and what is known of their upload, overwrites the pages they stood in, and empties
    the log. The store and its key stay. Copies elsewhere (exports, backups, what was uploaded) are not touched.
    """
  static let options = Option.store + [Option(name: "yes", help: "really remove them; there is no way back")]

  static func run(_ arguments: Arguments) throws -> Int32 {
    guard arguments.has("yes") else { throw UsageError("wipe removes every record for good: add --yes to do so") }
    let path = try arguments.required("db")
    let store = try NotificationStore(
      .init(path: path, key: try arguments.key(), creating: false, synchronous: .full))
    guard !PlaintextStore.needsAdoption(at: path) else {
      throw DatabaseError(
        .adoptionIncomplete,
        "an interrupted encrypt has left plaintext beside \(path), which wipe does not reach: run encrypt first")
    }
    try store.wipe()
    try store.close()
    try Output.write("every record was removed\n")
    return 0
  }
}
