import EncryptedSQLite
import Foundation
import NotificationStore
import RawC

/// Rotations of a key, against what SQLCipher's own calls take for the same pages.
struct RotationBenchmark {
  let folder: String
  let rounds: Int
  /// The size of the store to be rotated, in bytes.
  let size: Int
  private let old = EncryptionKey.random()
  private let new = EncryptionKey.random()

  func run() throws {
    let pages = try makeStore()
    try measure("rotate in place, write-ahead log", pages, journal: "WAL", rewriting: false) { store, key, size in
      raw_rekey(store, key, size)
    }
    try measure("rotate in place, rollback journal", pages, journal: "DELETE", rewriting: false) { store, key, size in
      raw_rekey(store, key, size)
    }
    let target = path("target")
    let copy: RawCopy = { store, key, size in
      try? FileManager.default.removeItem(atPath: target)
      raw_export(store, target, key, size)
    }
    try measure("rotate by a copy, against sqlcipher_export", pages, journal: "WAL", rewriting: true, copy)
    try measure("rotate by a copy, against the backup API", pages, journal: "WAL", rewriting: true) {
      store, key, size in
      try? FileManager.default.removeItem(atPath: target)
      raw_backup(store, target, key, size)
    }
  }

  private typealias RawCopy = (OpaquePointer, UnsafePointer<CChar>, Int32) -> Void

  private func path(_ name: String) -> String { folder + "/rotation-" + name + ".sqlite" }

  /// - Returns: its pages.
  private func makeStore() throws -> Int {
    let store = try NotificationStore(.init(path: path("original"), key: old))
    let records = SampleRows.make(10_000)
    var pages = 0
    while pages * (try store.database.read { Int(try $0.integer("PRAGMA page_size") ?? 0) }) < size {
      var copies = records
      // Else the unique index would refuse them.
      for index in copies.indices { copies[index].recordId = UUID().uuidString.lowercased() }
      try store.notifications.insert(copies)
      pages = try store.database.read { try $0.pageCount }
    }
    try store.close()
    return pages
  }

  private func measure(
    _ name: String, _ pages: Int, journal: String, rewriting: Bool, _ work: @escaping RawCopy
  ) throws {
    var measure = Measure("\(name), \(pages) pages", count: pages)
    var proving: [Double] = []
    for _ in 0..<rounds {
      try measure.round { time in
        try copy("c", journal)
        let store = old.withUnsafeBytes { key in
          raw_open(path("c"), key.bindMemory(to: CChar.self).baseAddress, Int32(key.count), false)
        }
        defer { raw_close(store) }
        guard let store else { return }
        if journal == "DELETE" { raw_use_journal(store) }
        try time {
          new.withUnsafeBytes { key in
            guard let start = key.bindMemory(to: CChar.self).baseAddress else { return }
            work(store, start, Int32(key.count))
          }
        }
      } librarySeconds: {
        try copy("library", journal)
        let report = try Database.rotateEncryptionKey(of: path("library"), from: old, to: new, rewriting: rewriting)
        proving.append(report.provingSeconds)
        return report.rotatingSeconds
      }
    }
    print(measure.line + String(format: "   (proofs beside it: %.2f s)", proving.sorted()[proving.count / 2]))
  }

  private func copy(_ name: String, _ journal: String) throws {
    try? FileManager.default.removeItem(atPath: path(name))
    try FileManager.default.copyItem(atPath: path("original"), toPath: path(name))
    guard journal == "DELETE" else { return }
    let connection = try Connection.open(path(name), key: old)
    _ = try connection.text("PRAGMA journal_mode = DELETE")
    try connection.close()
  }
}
