import EncryptedSQLite
import NotificationStore

/// The writing of batches by itself, for measurements.
@_spi(Benchmarks) public enum BatchEncoding {
  /// The body of a batch of up to `limit` notifications with ids above `id`, as a server of type `aware_micro` gets it.
  public static func notifications(of store: NotificationStore, after id: Int64, limit: Int) throws -> [UInt8] {
    let table = UploadTable(NotificationData.self)
    let encoder = BatchEncoder(
      BatchFormat(body: .rows, hasID: true, isExtended: true), table: table.name, columns: table.columns,
      deviceId: store.deviceId, time: 0, byteLimit: .max)
    try store.database.read { connection in
      try connection.withStatement(UploadLedger.query(table.name, columns: table.columns)) { row in
        row.bind(id, at: 1)
        row.bind(Int64.max, at: 2)
        row.bind(Int64(limit), at: 3)
        while try row.step() { _ = encoder.add(row) }
      }
    }
    return encoder.finish()
  }
}
