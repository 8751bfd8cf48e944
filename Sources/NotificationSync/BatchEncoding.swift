import EncryptedSQLite
import NotificationStore

/// The writing of batches by itself, for measurements.
@_spi(Benchmarks) public enum BatchEncoding {
  /// The body of a batch of up to `limit` notifications with ids above `id`, as a server of type `aware_micro` gets it.
  public static func notifications(of store: NotificationStore, after id: Int64, limit: Int) throws -> [UInt8] {
    try body(of: store, after: id, limit: limit) { encoder, row in _ = encoder.add(row) }
  }

  /// The body of a batch that holds the first notification `count` times: writing without reading.
  public static func firstNotification(of store: NotificationStore, times count: Int) throws -> [UInt8] {
    try body(of: store, after: 0, limit: 1) { encoder, row in
      for _ in 0..<count { _ = encoder.add(row) }
    }
  }

  private static func body(
    of store: NotificationStore, after id: Int64, limit: Int, _ add: (BatchEncoder, Statement) -> Void
  ) throws -> [UInt8] {
    let table = UploadTable(NotificationData.self)
    let encoder = BatchEncoder(
      BatchFormat(body: .rows, hasID: true, isExtended: true), table: table.name, columns: table.columns,
      deviceId: store.deviceId, time: 0, byteLimit: .max)
    try store.database.read { connection in
      try connection.withStatement(UploadLedger.query(table.name, columns: table.columns)) { row in
        row.bind(id, at: 1)
        row.bind(Int64.max, at: 2)
        row.bind(Int64(limit), at: 3)
        while try row.step() { add(encoder, row) }
      }
    }
    return encoder.finish()
  }
}
