import CSQLCipher
import EncryptedSQLite
import Foundation

extension RawSQLite {
  /// Changes pages of the encrypted file at `path` as its owner could: they decrypt and authenticate afterwards.
  ///
  /// The shell of SQLCipher 4 has the table `sqlite_dbpage` for it. With 3.4.1 the file is copied page by page to a plaintext one and
  /// back, which only that version allows.
  public static func edit(_ path: String, key: EncryptionKey, pages: [Int], _ change: (Int, inout [UInt8]) -> Void) {
    let version = (try? Connection.libraryVersion()) ?? ""
    let isOld = version.hasPrefix("3.")
    let folder = TemporaryFolder()
    let source = RawSQLite(path, key: key)
    source.execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE")
    if isOld {
      let plain = RawSQLite(folder.path("plain"))
      source.copy(to: plain)
      let size = source.integer("PRAGMA page_size")
      plain.close()
      var bytes = [UInt8](FileManager.default.contents(atPath: folder.path("plain")) ?? Data())
      for page in pages {
        let place = (page - 1) * size..<page * size
        var content = Array(bytes[place])
        change(page, &content)
        bytes.replaceSubrange(place, with: content)
      }
      try? Data(bytes).write(to: URL(fileURLWithPath: folder.path("changed")))
      source.close()
      unlink(path)
      RawSQLite(folder.path("changed")).copy(to: RawSQLite(path, key: key))
    } else {
      source.close()
      let keyed = key.withUnsafeBytes {
        "PRAGMA key = \"\(String(decoding: $0, as: UTF8.self))\";\n.dbconfig defensive off\n"
      }
      func ask(_ sql: String) -> String {
        let result = try? Program.run(Program.shell, ["-batch", path], input: keyed + sql)
        return result?.output ?? ""
      }
      for page in pages {
        let digits = Array(
          ask("SELECT hex(data) FROM sqlite_dbpage WHERE pgno = \(page);").split(separator: "\n").last ?? "")
        // Nonsense in a page before it may keep the shell from reading this one.
        guard !digits.isEmpty, digits.count % 2 == 0, digits.allSatisfy(\.isHexDigit) else { continue }
        var content = stride(from: 0, to: digits.count, by: 2).compactMap {
          UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
        change(page, &content)
        let hex = content.map { String(format: "%02x", $0) }.joined()
        _ = ask("UPDATE sqlite_dbpage SET data = x'\(hex)' WHERE pgno = \(page);")
      }
    }
  }

  func copy(to other: RawSQLite) {
    let copy = sqlite3_backup_init(other.handle, "main", handle, "main")
    sqlite3_backup_step(copy, -1)
    let status = sqlite3_backup_finish(copy)
    precondition(status == SQLITE_OK, "the copy failed: \(status)")
  }

  public func integer(_ sql: String) -> Int {
    withRow(sql) { Int(sqlite3_column_int64($0, 0)) } ?? 0
  }

  private func withRow<Result>(_ sql: String, _ read: (OpaquePointer?) -> Result) -> Result? {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, sqlite3_step(statement) == SQLITE_ROW
    else {
      return nil
    }
    return read(statement)
  }
}
