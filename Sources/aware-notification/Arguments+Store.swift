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

  func openForReading() throws -> NotificationStore {
    try NotificationStore(.init(path: try required("db"), key: try key(), access: .readOnly))
  }
}
