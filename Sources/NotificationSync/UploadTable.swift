import NotificationStore

/// A table of records as it is sent.
package struct UploadTable: Sendable {
  package let name: String
  /// The columns beside `id` that go out, in their order.
  package let columns: [String]
  /// Those of them that the public sensor's layout has.
  package let publicColumns: [String]

  init<Record: AwareRecord>(_ record: Record.Type) {
    name = Record.databaseTableName
    columns = Record.columns
    let ours = ["recordId", "timezoneOffset", "source", "pushId"]
    publicColumns = Record.columns.filter { !ours.contains($0) }
  }

  /// All tables of the store, in the order in which they are sent.
  package static let all = [
    UploadTable(NotificationData.self), UploadTable(NotificationTokenData.self), UploadTable(SilentPushData.self),
  ]
}
