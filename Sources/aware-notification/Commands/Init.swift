import EncryptedSQLite
import NotificationStore

enum Init: Command {
  static let name = "init"
  static let summary = "make a new, empty store"
  static let usage = "--db PATH [--key-file FILE | --key-fd N] [--readable-header]"
  static let details = """
    Makes an encrypted store at PATH, which must not exist. The store appears complete, or not at all.
    """
  static let options =
    Option.store + [
      Option(
        name: "readable-header",
        help: "for a shared container on iOS: 32 bytes in the clear (SQLCipher 4 and a key of keygen --with-salt)")
    ]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let path = try arguments.required("db")
    let key = try arguments.key(making: path)
    let isNew = try NotificationStore.create(path, key: key, hasReadableHeader: arguments.has("readable-header"))
    guard isNew else {
      throw DatabaseError(.alreadyExists, "\(path) exists already: choose another path, or go on with that store")
    }
    try Output.write("\(path)\n")
    return 0
  }
}
