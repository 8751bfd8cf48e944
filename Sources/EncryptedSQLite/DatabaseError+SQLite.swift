import CSQLCipher
import Foundation

/// `SQLITE_READONLY_DBMOVED`, a macro that Swift cannot read.
private let readOnlyFileMoved = SQLITE_READONLY | 4 << 8
/// `SQLITE_READONLY_ROLLBACK`: a journal has to be rolled back, and this connection only reads.
private let readOnlyRollback = SQLITE_READONLY | 3 << 8

extension DatabaseError {
  /// The error for a result code of SQLite.
  ///
  /// - Parameters:
  ///   - isProven: whether a page has been read under this connection's key. SQLite says NOTADB both for a wrong key
  ///     and for a file that was changed under an open connection.
  init(status: Int32, handle: OpaquePointer?, path: String, isProven: Bool) {
    // SQLite's extended code says more where there is one.
    let extended = handle.map(sqlite3_extended_errcode) ?? status
    let code = extended & 0xff == status & 0xff ? extended : status
    let detail = handle.flatMap(sqlite3_errmsg).map { String(cString: $0) } ?? String(cString: sqlite3_errstr(status))
    let (kind, message): (Code, String) =
      switch code & 0xff {
      case SQLITE_NOTADB where isProven:
        (
          .keyChanged,
          "\(path) no longer reads under the key it was opened with: it was rotated to another key, or its first page "
            + "is damaged; open it with the current key"
        )
      case SQLITE_NOTADB: (.wrongKey, Self.wrongKeyText(path))
      case SQLITE_CORRUPT: (.corrupt, Self.corruptText(path, detail))
      // Once a page's MAC has failed, SQLCipher's codec fails every page until the transaction ends, as a plain error.
      // SQLite words a mistake in SQL; only this one comes with the code's own text.
      case SQLITE_ERROR where isProven && detail == String(cString: sqlite3_errstr(SQLITE_ERROR)):
        (.corrupt, Self.corruptText(path, "a page does not decrypt"))
      case SQLITE_BUSY, SQLITE_LOCKED:
        (.busy, "\(path) is in use by another connection: end what holds it, or try again later")
      // Some calls on a full disk come back as a plain failure to write.
      case SQLITE_IOERR where handle.map(sqlite3_system_errno) == ENOSPC: (.diskFull, Self.diskFullText(path))
      case SQLITE_FULL: (.diskFull, Self.diskFullText(path))
      case SQLITE_READONLY where code == readOnlyFileMoved:
        (.fileReplaced, "another file stands at \(path), or none: open the store again")
      case SQLITE_READONLY where code == readOnlyRollback:
        (
          .recoveryNeeded,
          "a write to \(path) was cut short, and a command that only reads does not undo it: run a command that writes, such "
            + "as migrate; until then \(path)-journal belongs to the file"
        )
      case SQLITE_READONLY: (.readOnly, "\(path) cannot be written: check the mode of the file and of its folder")
      case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH:
        (.permissionDenied, "cannot open \(path) (\(detail)): check the mode and the owner of the file and its folder")
      case SQLITE_IOERR:
        (
          .inputOutput,
          "reading or writing \(path) failed (\(detail)): check the disk, and the limit of a file's size (ulimit -f)"
        )
      case SQLITE_CONSTRAINT: (.constraint, "the row was refused (\(detail))")
      case SQLITE_INTERRUPT: (.cancelled, "the work on \(path) was cancelled; nothing of it was kept")
      case SQLITE_TOOBIG: (.invalidArgument, "a value is too large for a row: keep it under a gigabyte")
      default: (.database, "SQLite reports: \(detail)")
      }
    self.init(kind, message, sqliteCode: code)
  }

  private static func diskFullText(_ path: String) -> String {
    "the disk is full: free some space and try again; \(path) is as it was before"
  }

  private static func corruptText(_ path: String, _ detail: String) -> String {
    "\(path) is damaged (\(detail)): run verify, and restore a backup or salvage what it still holds"
  }

  static func wrongKeyText(_ path: String) -> String {
    "\(path) does not open with this key: check the key. Damage to the file's first page looks the same, and so does, "
      + "to a SQLCipher 3 library, a file written by SQLCipher 4"
  }
}
