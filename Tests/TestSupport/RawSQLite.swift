import CSQLCipher
import EncryptedSQLite

/// A connection made with SQLite's own calls and nothing of this package: another program at the same file.
public final class RawSQLite {
  private(set) var handle: OpaquePointer?

  /// Opens or makes the file at `path`; without a key it is plain SQLite.
  public init(_ path: String, key: EncryptionKey? = nil, settings: String = "") {
    var handle: OpaquePointer?
    sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
    self.handle = handle
    sqlite3_exec(handle, "PRAGMA cipher_log_level = NONE", nil, nil, nil)
    _ = key?.withUnsafeBytes { sqlite3_key_v2(handle, "main", $0.baseAddress, Int32($0.count)) }
    if !settings.isEmpty { execute(settings) }
  }

  deinit { close() }

  public func close() {
    sqlite3_close_v2(handle)
    handle = nil
  }

  /// Runs statements; the result is SQLite's code.
  @discardableResult
  public func execute(_ sql: String) -> Int32 { sqlite3_exec(handle, sql, nil, nil, nil) }

  /// The first column of each row, as text; null becomes "".
  public func texts(_ sql: String) -> [String] {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { return [] }
    var result: [String] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      result.append(sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "")
    }
    return result
  }

  /// Gives the file another key, by the sequence that SQLCipher survives.
  ///
  /// - Returns: false when the file was not free to be rotated.
  public func rotate(to key: EncryptionKey) -> Bool {
    guard execute("SELECT count(*) FROM sqlite_master; PRAGMA synchronous = EXTRA; BEGIN EXCLUSIVE") == SQLITE_OK else {
      return false
    }
    _ = key.withUnsafeBytes { sqlite3_rekey_v2(handle, "main", $0.baseAddress, Int32($0.count)) }
    execute("COMMIT")
    return sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil) == SQLITE_OK
  }
}
