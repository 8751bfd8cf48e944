import EncryptedSQLite
import Foundation
import NotificationStore
import RawC

/// The measures, each with a fresh pair of stores where it writes.
///
/// Both sides start from a file that the library made, with its whole schema.
struct Benchmark {
  /// In memory where possible, so that the disk does not hide what the processor does.
  var folder: String
  /// For what is about the disk.
  let diskFolder: String
  let rounds: Int
  /// A tenth of the rows.
  let isQuick: Bool
  private let key = EncryptionKey.random()

  func run(onlyUploads: Bool) throws {
    print("SQLCipher \(try Connection.libraryVersion()), raw key, WAL; \(rounds) rounds in turn")
    print("Files in \(folder), for FULL in \(diskFolder)\n")
    if !onlyUploads { try stores() }
    try UploadBenchmark(folder: folder, rounds: rounds, count: scaled(100_000)).run()
  }

  private func stores() throws {
    print(Measure.heading)
    try batchInsert()
    try scan()
    try singleInserts(.normal)
    var onDisk = self
    onDisk.folder = diskFolder
    try onDisk.singleInserts(.full)
    try pushIntake()
    try opening()
    try RotationBenchmark(folder: folder, rounds: isQuick ? 1 : 3, size: scaled(100_000_000)).run()
    print("")
  }

  private func scaled(_ count: Int) -> Int { isQuick ? count / 10 : count }

  // MARK: Measures

  private func batchInsert() throws {
    let records = SampleRows.make(scaled(100_000))
    let rows = RawRows(records)
    var measure = Measure("insert \(records.count) rows, one transaction", count: records.count)
    for _ in 0..<rounds {
      try measure.round { time in
        try withRaw("c") { store in
          try time { raw_insert(store, rows.rows.baseAddress, Int32(rows.rows.count)) }
        }
      } library: { time in
        try withStore("library") { store in
          try time { try store.notifications.insert(records) }
        }
      }
    }
    print(measure.line)
    try reportEquality()
  }

  /// Reads the files that the batch insert left.
  private func scan() throws {
    let c = openRaw("c", .normal)
    defer { raw_close(c) }
    let store = try open("library", .normal)
    let count = try store.notifications.count()
    var cursor = Measure("read \(count) rows, cursor, pages of 500", count: count)
    var pages = Measure("read \(count) rows, pages of 1000", count: count)
    for _ in 0..<rounds {
      try cursor.round { time in
        try time { require(raw_scan(c, 500) == count) }
      } library: { time in
        try time {
          var cursor = store.notifications.cursor()
          var read = 0
          while let record = try cursor.next() { read += record.id == nil ? 0 : 1 }
          require(read == count)
        }
      }
      try pages.round { time in
        try time { require(raw_scan(c, 1000) == count) }
      } library: { time in
        try time {
          var lastID: Int64 = 0
          var read = 0
          while let last = try readPage(of: store, after: lastID, &read) { lastID = last }
          require(read == count)
        }
      }
    }
    print(cursor.line)
    print(pages.line)
    try store.close()
  }

  private func readPage(of store: NotificationStore, after id: Int64, _ read: inout Int) throws -> Int64? {
    let page = try store.notifications.page(after: id, limit: 1000)
    read += page.count
    return page.last?.id
  }

  private func singleInserts(_ synchronous: Connection.Synchronous) throws {
    let records = SampleRows.make(scaled(5_000))
    let rows = RawRows(records)
    var measure = Measure("insert one row a transaction, \(synchronous.rawValue)", count: records.count)
    for _ in 0..<rounds {
      try measure.round { time in
        try withRaw("c", synchronous) { store in
          try time { raw_insert_singly(store, rows.rows.baseAddress, Int32(rows.rows.count)) }
        }
      } library: { time in
        try withStore("library", synchronous) { store in
          try time { for record in records { try store.notifications.insert(record) } }
        }
      }
    }
    print(measure.line)
    try reportEquality()
  }

  private func pushIntake() throws {
    let records = SampleRows.makePushes(scaled(100_000))
    let batches = stride(from: 0, to: records.count, by: 1000).map { start in
      records[start..<min(start + 1000, records.count)].map { PushRecords(notification: $0) }
    }
    let rows = RawRows(records)
    var measure = Measure("record pushes, 1000 a transaction", count: records.count)
    for _ in 0..<rounds {
      try measure.round { time in
        try withRaw("c") { store in
          try time {
            var rest = rows.rows[...]
            while !rest.isEmpty {
              let batch = UnsafeMutableBufferPointer(rebasing: rest.prefix(1000))
              _ = raw_record(store, batch.baseAddress, Int32(batch.count))
              rest = rest.dropFirst(1000)
            }
          }
        }
      } library: { time in
        try withStore("library") { store in
          try time { for batch in batches { try store.record(batch) } }
        }
      }
    }
    print(measure.line)
    try reportEquality()
  }

  /// The file has the pushes of the measure before.
  private func opening() throws {
    let count = scaled(1_000)
    var connection = Measure("open a connection and close it", count: count)
    var whole = Measure("open a store, with schema, and close it", count: count)
    for _ in 0..<rounds {
      let c = { (time: Measure.Timer) in
        try time { for _ in 0..<count { raw_close(openRaw("c", .normal, preparing: false)) } }
      }
      try connection.round(c: c) { time in
        try time { for _ in 0..<count { try Connection.open(path("library"), key: key).close() } }
      }
      try whole.round(c: c) { time in
        try time { for _ in 0..<count { try open("library", .normal).close() } }
      }
    }
    print(connection.line)
    print(whole.line)
  }

  // MARK: Stores

  private func path(_ name: String) -> String { folder + "/" + name + ".sqlite" }

  private func makeEmpty(_ name: String) throws {
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path(name) + suffix) }
    _ = try NotificationStore.create(path(name), key: key)
  }

  private func open(_ name: String, _ synchronous: Connection.Synchronous) throws -> NotificationStore {
    try NotificationStore(.init(path: path(name), key: key, creating: false, synchronous: synchronous))
  }

  private func openRaw(_ name: String, _ synchronous: Connection.Synchronous, preparing: Bool = true) -> OpaquePointer {
    let opened = key.withUnsafeBytes { key in
      raw_open(path(name), key.bindMemory(to: CChar.self).baseAddress, Int32(key.count), synchronous == .full)
    }
    guard let store = opened else { fatalError("raw_open ends the program when it fails") }
    if preparing { raw_prepare(store) }
    return store
  }

  private func withRaw(
    _ name: String, _ synchronous: Connection.Synchronous = .normal, _ body: (OpaquePointer) throws -> Void
  ) throws {
    try makeEmpty(name)
    let store = openRaw(name, synchronous)
    defer { raw_close(store) }
    try body(store)
  }

  private func withStore(
    _ name: String, _ synchronous: Connection.Synchronous = .normal, _ body: (NotificationStore) throws -> Void
  ) throws {
    try makeEmpty(name)
    let store = try open(name, synchronous)
    try body(store)
    try store.close()
  }

  private func reportEquality() throws {
    let c = openRaw("c", .normal)
    let library = openRaw("library", .normal)
    defer {
      raw_close(c)
      raw_close(library)
    }
    if !raw_equal(c, library) { print("  (the two sides wrote different rows: this comparison is not fair)") }
  }

  private func require(_ isRight: Bool) {
    if !isRight { print("  (not all rows were read: this comparison is not fair)") }
  }
}
