import EncryptedSQLite
import Foundation
import NotificationStore
@_spi(Benchmarks) import NotificationSync
import RawC

/// Syncs against the `curl` program posting the same bodies, and batches against Foundation's encoder.
struct UploadBenchmark {
  let folder: String
  let rounds: Int
  let count: Int
  private let key = EncryptionKey.random()

  func run() throws {
    let store = try NotificationStore(.init(path: folder + "/upload.sqlite", key: key))
    try store.notifications.insert(SampleRows.make(count))
    print(Measure.heading(against: "curl"))
    try syncs(store)
    print("\n" + Measure.heading(against: "JSONEncoder"))
    try encoding(store)
    try store.close()
  }

  // MARK: Syncs

  private func syncs(_ store: NotificationStore) throws {
    let bodies = folder + "/bodies"
    try FileManager.default.createDirectory(atPath: bodies, withIntermediateDirectories: true)
    let saving = try SinkServer(folder: folder, savingTo: bodies)
    try sync(store, saving)
    saving.stop()

    let server = try SinkServer(folder: folder)
    let script = try curlScript(bodies, server)
    var posting = Measure("sync \(count) rows, batches of 1000, TLS", count: count)
    var reading = Measure("the same, C having to read the rows as well", count: count)
    let library: ((() throws -> Void) throws -> Void) throws -> Void = { time in
      try store.startUploadsAnew()
      try time { try sync(store, server) }
    }
    for _ in 0..<rounds {
      try posting.round(c: { time in try time { try SinkServer.run(["curl", "--config", script]) } }, library: library)
      try reading.round(
        c: { time in
          let raw = openRaw()
          defer { raw_close(raw) }
          try time {
            guard raw_scan(raw, 1000) == count else { throw SinkServer.Failure(description: "C did not read all rows") }
            try SinkServer.run(["curl", "--config", script])
          }
        }, library: library)
    }
    print(posting.line)
    print(reading.line)
  }

  private func openRaw() -> OpaquePointer {
    let opened = key.withUnsafeBytes { key in
      raw_open(folder + "/upload.sqlite", key.bindMemory(to: CChar.self).baseAddress, Int32(key.count), false)
    }
    guard let store = opened else { fatalError("raw_open ends the program when it fails") }
    raw_prepare(store)
    return store
  }

  private func sync(_ store: NotificationStore, _ server: SinkServer) throws {
    let synchronizer = try Synchronizer(
      store,
      SyncSettings(
        host: "localhost:\(server.port)", studyKey: "key", tls: TLSPolicy(certificateAuthorities: server.certificate)))
    let done = DispatchSemaphore(value: 0)
    Task {
      let report = try? await synchronizer.sync(force: true)
      if report?.sent != count { print("  (not all rows were sent: this comparison is not fair)") }
      done.signal()
    }
    done.wait()
  }

  /// Posts all bodies on one connection.
  private func curlScript(_ bodies: String, _ server: SinkServer) throws -> String {
    let requests = try FileManager.default.contentsOfDirectory(atPath: bodies).sorted().map { name in
      """
      url = "https://localhost:\(server.port)/api/1/key/insert/"
      silent
      fail
      http1.1
      cacert = "\(server.certificate)"
      header = "Content-Type: application/json"
      header = "Expect:"
      data-binary = "@\(bodies)/\(name)"
      output = "/dev/null"

      """
    }
    let path = folder + "/curl.conf"
    try requests.joined(separator: "next\n").write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  // MARK: Encoding

  /// Both sides have done it once before: SQLite has the pages, Swift the types.
  private func encoding(_ store: NotificationStore) throws {
    let page = try store.notifications.page(limit: 1000)
    let rows = page.map(CodableRow.init)
    let envelope = CodableEnvelope(
      deviceId: store.deviceId, data: rows, tableName: "ios_notification", timestamp: 1_764_000_000_000)
    let repeats = max(1, count / 2000)
    var bare = Measure("rows in memory, to JSON", count: repeats * rows.count)
    var whole = Measure("the store's rows to JSON", count: repeats * rows.count)
    var sizes: Set<Int> = []
    let library: ((() throws -> Void) throws -> Void) throws -> Void = { time in
      try time {
        for _ in 0..<repeats { sizes.insert(try BatchEncoding.notifications(of: store, after: 0, limit: 1000).count) }
      }
    }
    for _ in 0..<rounds {
      try bare.round(
        c: { time in try time { for _ in 0..<repeats { sizes.insert(try JSONEncoder().encode(envelope).count) } } },
        library: { time in
          try time {
            for _ in 0..<repeats { _ = try BatchEncoding.firstNotification(of: store, times: rows.count) }
          }
        })
      try whole.round(
        c: { time in
          try time {
            for _ in 0..<repeats {
              var envelope = envelope
              envelope.data = try store.notifications.page(limit: 1000).map(CodableRow.init)
              sizes.insert(try JSONEncoder().encode(envelope).count)
            }
          }
        }, library: library)
    }
    print(bare.line)
    print(whole.line)
    print("  bytes of a batch: \(sizes.sorted().map(String.init).joined(separator: ", ")) (Foundation escapes each /)")
  }
}

/// What a batch says, as an app would write it with Foundation.
private struct CodableEnvelope: Encodable {
  var deviceId: String
  var data: [CodableRow]
  var tableName: String
  var timestamp: Int64
}

private struct CodableRow: Encodable {
  var id: Int64?
  var timestamp: Int64
  var deviceId: String
  var label: String
  var timezone: Int
  var os: String
  var jsonVersion: Int
  var notificationId: String
  var title: String
  var body: String
  var categoryIdentifier: String
  var bundleIdentifier: String
  var sound: String
  var badge: Int
  var threadIdentifier: String
  var interruptionLevel: Int
  var recordId: String
  var timezoneOffset: Int
  var source: String

  init(_ row: NotificationData) {
    id = row.id
    timestamp = row.timestamp
    deviceId = row.deviceId
    label = row.label
    timezone = row.timezone
    os = row.os
    jsonVersion = row.jsonVersion
    notificationId = row.notificationId
    title = row.title
    body = row.body
    categoryIdentifier = row.categoryIdentifier
    bundleIdentifier = row.bundleIdentifier
    sound = row.sound
    badge = row.badge
    threadIdentifier = row.threadIdentifier
    interruptionLevel = row.interruptionLevel
    recordId = row.recordId
    timezoneOffset = row.timezoneOffset
    source = row.source.rawValue
  }
}
