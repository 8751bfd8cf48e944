import CSQLCipher

extension Connection {
  /// Copies every page, in the view of the transaction that is open on this connection, to the new, empty file at `aside`
  /// under `key`, which is closed on return.
  ///
  /// Writers go on meanwhile. Rows keep their ids, the file its header's numbers and its journal mode; the salt is a new
  /// one, or the key's.
  ///
  /// - Parameter format: the copy's.
  /// - Parameter progress: told the part that is done, from 0 to 1, every few thousand pages; false ends the work.
  /// - Throws: `cancelled`; `corrupt` at a page that cannot be read; `readableHeaderUnavailable`.
  func backUp(to aside: String, key: EncryptionKey, format: FileFormat, progress: (Double) -> Bool) throws {
    precondition(isInTransaction, "outside a transaction the copy would start anew with each write of another")
    let target = try Connection.openNew(aside, key: key, format: format)
    do {
      // Nobody else knows the file, and an unfinished one is thrown away.
      try target.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
      try copyPages(to: target, progress)
      target.abandon()
    } catch {
      target.abandon()
      throw error
    }
  }

  private func copyPages(to target: Connection, _ progress: (Double) -> Bool) throws {
    guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
      throw target.error(sqlite3_errcode(target.handle))
    }
    let pagesAtOnce: Int32 = 2000
    var status: Int32
    repeat {
      status = sqlite3_backup_step(backup, pagesAtOnce)
      let count = sqlite3_backup_pagecount(backup)
      let done = count > 0 ? 1 - Double(sqlite3_backup_remaining(backup)) / Double(count) : 0
      if status == SQLITE_OK, !progress(done) {
        sqlite3_backup_finish(backup)
        throw DatabaseError(.cancelled, "the copy of \(path) was interrupted; nothing of it is left")
      }
    } while status == SQLITE_OK
    // Its result repeats that of the last step.
    sqlite3_backup_finish(backup)
    // SQLCipher 3 shows a page that did not decrypt at the next page that is read, and the last one has none.
    if status == SQLITE_DONE { try requirePagesDecrypted() }
    guard status == SQLITE_DONE else {
      // Which side failed is not told: a fault of the source is damage, since its key is proved.
      throw status & 0xff == SQLITE_FULL || status & 0xff == SQLITE_IOERR ? target.error(status) : error(status)
    }
  }
}
