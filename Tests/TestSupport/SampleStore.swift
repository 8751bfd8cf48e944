import EncryptedSQLite
import Foundation
import NotificationStore

/// A closed store of about three hundred pages of every kind: tables, indexes, overflow pages, free pages.
public struct SampleStore {
  public let path: String
  public let pageSize: Int
  public let pages: Int

  public init(
    _ path: String, key: EncryptionKey, pages wanted: Int = 300, hasReadableHeader: Bool = false
  ) throws {
    self.path = path
    let store = try NotificationStore(.init(path: path, key: key, hasReadableHeader: hasReadableHeader))
    let pageSize = Int(try store.database.read { try $0.integer("PRAGMA page_size") } ?? 0)
    self.pageSize = pageSize
    var generator = SeededGenerator(seed: 5)
    func text(_ length: Int) -> String {
      String((0..<length).map { _ in "abcdefghijklmnop".randomElement(using: &generator) ?? "a" })
    }
    // At least once: with small pages a store without rows has some twenty.
    repeat {
      try store.notifications.insert(
        (0..<10).map { number in
          var data = NotificationData(timestamp: 1_764_460_861_000 + Int64(number))
          (data.notificationId, data.title, data.body) = (
            text(10), text(20), text(number == 0 ? 3 * pageSize : pageSize / 8)
          )
          return data
        })
      try store.silentPushes.insert([SilentPushData(payload: text(2 * pageSize)), SilentPushData(payload: text(10))])
      try store.tokens.insert((0..<3).map { _ in NotificationTokenData(token: text(pageSize / 10)) })
    } while try store.database.read({ try $0.pageCount }) < wanted
    try store.database.write { connection in
      for table in NotificationStore.tables {
        let last = try connection.integer("SELECT max(id) FROM \(table)") ?? 0
        try connection.run(
          "UPDATE upload_ledger SET sentThroughId = ? WHERE tableName = ?", .integer(last / 2), .text(table))
        try connection.run("DELETE FROM \(table) WHERE id > ? AND id % 3 = 0", .integer(last / 2))
      }
      for id in 1...5 {
        try connection.run(
          "INSERT INTO delivery_receipt (recordId, notificationId, receivedAt) SELECT recordId, notificationId, timestamp "
            + "FROM ios_notification WHERE id = ?", .integer(Int64(id)))
      }
    }
    pages = try store.database.read { try $0.pageCount }
    try store.close()
  }

  /// Where the bytes of a page (numbered from 1) begin in the file.
  public func offset(of page: Int) -> Int { (page - 1) * pageSize }
}

extension SilentPushData {
  public init(payload: String) {
    self.init()
    self.payload = payload
  }
}

extension NotificationTokenData {
  public init(token: String) {
    self.init()
    self.token = token
  }
}
