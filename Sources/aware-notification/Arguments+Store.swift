import EncryptedSQLite
import NotificationStore

extension Arguments {
  /// The tables that `--table` names; all without it.
  func tables() throws -> [String] {
    guard let name = value("table") else { return NotificationStore.tables }
    guard NotificationStore.tables.contains(name) else {
      throw UsageError("--table is one of \(NotificationStore.tables.joined(separator: ", "))")
    }
    return [name]
  }

  /// What `--page-size` and `--kdf-iterations` say; nil without them.
  func cipherSettings() throws -> Cipher.Settings? {
    let settings = Cipher.Settings(
      pageSize: try integer("page-size").map { Int(clamping: $0) },
      kdfIterations: try integer("kdf-iterations").map { Int(clamping: $0) })
    do {
      try settings.check()
    } catch let error as DatabaseError {
      throw UsageError("\(error.message) with --page-size or --kdf-iterations")
    }
    return settings == .init() ? nil : settings
  }

  func openForReading() throws -> NotificationStore {
    try NotificationStore(.init(path: try required("db"), key: try key(), access: .readOnly))
  }
}
