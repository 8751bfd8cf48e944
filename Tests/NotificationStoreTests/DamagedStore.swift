import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// A store that is damaged, salvaged, and held against what it held before.
struct DamagedStore {
  let folder = TemporaryFolder()
  var path: String { folder.path("damaged.db") }
  var saved: String { folder.path("saved.db") }
  static let tables = NotificationStore.tables + ["delivery_receipt"]

  /// The rows of every table by their ids, as text.
  func rows(_ path: String) throws -> [String: [Int64: String]] {
    let connection = try Connection.open(path, key: Keys.raw, options: .init(access: .readOnly))
    var rows: [String: [Int64: String]] = [:]
    for table in Self.tables {
      try connection.forEachRow("SELECT * FROM \(table)") { row in
        rows[table, default: [:]][row.int64(at: 0)] = Self.text(row)
      }
    }
    try connection.close()
    return rows
  }

  static func text(_ row: Statement) -> String {
    (0..<row.columnCount).map { "\(row.kind(at: $0)) \(row.string(at: $0))" }.joined(separator: "|")
  }

  /// The rows that are found by their ids in the damaged file, each in a transaction of its own.
  func reachable(_ rows: [String: [Int64: String]]) throws -> [String: Set<Int64>] {
    guard let connection = try? Connection.open(path, key: Keys.raw, options: .init(access: .readOnly)) else {
      return [:]
    }
    var reachable: [String: Set<Int64>] = [:]
    for (table, rows) in rows {
      for id in rows.keys {
        let text = try? connection.readTransaction {
          try connection.firstRow("SELECT * FROM \(table) WHERE id = ?", .integer(id), read: Self.text)
        }
        if text == rows[id] { reachable[table, default: []].insert(id) }
      }
    }
    try connection.close()
    return reachable
  }

  /// Salvages, and holds the outcome against what the store held before the damage.
  @discardableResult
  func salvage(of original: [String: [Int64: String]], _ comment: Comment) throws -> SalvageReport? {
    let before = folder.contents
    let report: SalvageReport
    do {
      report = try StoreSalvage.salvage(path, into: saved, key: Keys.raw)
    } catch let error as DatabaseError where [.wrongKey, .corrupt, .emptyFile].contains(error.code) {
      try #require(folder.contents == before, comment)
      return nil
    }
    try #require(folder.contents.filter { $0.key != "saved.db" } == before, comment)
    let rows = try rows(saved)
    let reachable = try reachable(original)
    for table in report.tables {
      let (old, new) = (original[table.name] ?? [:], rows[table.name] ?? [:])
      try #require(new.count == table.saved, comment)
      try #require(new.allSatisfy { old[$0] == $1 }, comment)
      try #require(reachable[table.name, default: []].isSubset(of: new.keys), comment)
      guard table.isFound else { continue }
      let lost = Set(old.keys).subtracting(new.keys)
      try #require(lost.allSatisfy { id in table.missing.contains { $0.contains(id) } }, comment)
      if table.isExact { try #require(table.missing.reduce(0) { $0 + $1.count } == lost.count, comment) }
    }
    try #require(try StoreVerification(path: saved, key: Keys.raw).isSound, comment)
    unlink(saved)
    return report
  }
}
