import CSQLCipher
import Foundation

/// A copy of a damaged file, from which is read what can be read.
///
/// Each query is a transaction of its own, for a page that does not decrypt fails every later one of its transaction.
package final class DamagedDatabase {
  package let connection: Connection
  /// A query that reads pages of the schema that are sound. SQLCipher gives a page whose MAC fails as one of zeros, and
  /// an error only for the pages after it; so a row counts only when this can be read behind it.
  private let probe: String
  private let path: String
  /// The most that a query may be asked.
  private let questions: Int
  private let stamp: FileStamp
  private let isInterrupted: () -> Bool

  /// Copies the file at `path` with its log or journal to `copy`, a new file of no bytes, and opens the copy.
  ///
  /// The original is only read. Where this process has it open too, closing this reading lets go of that one's locks.
  ///
  /// - Parameters:
  ///   - settings: what the file is written with in place of the defaults.
  ///   - isInterrupted: asked time and again; true ends the work with `cancelled`.
  /// - Throws: `wrongKey` when the first page does not decrypt, `corrupt` when no page of the schema does, `busy` when
  ///   another process has the original open, and what copying throws.
  package init(
    _ path: String, key: EncryptionKey, copy: String, settings: Cipher.Settings = .init(),
    isInterrupted: @escaping () -> Bool = { false }
  ) throws {
    try settings.check()
    (self.path, self.isInterrupted) = (path, isInterrupted)
    stamp = FileStamp(path)
    try DamagedFile.copy(path, to: copy, isInterrupted)
    for log in ["-wal", "-journal"] where FileSystem.size(path + log) > 0 {
      close(try FileSystem.createForOwner(copy + log))
      try DamagedFile.copy(path + log, to: copy + log, isInterrupted)
    }
    guard stamp == FileStamp(path) else { throw DamagedFile.inUse(path) }
    var connection = try Connection.openDamaged(copy, key: key, settings)
    let (pages, size) = (try connection.pageCount, try connection.pageSize)
    if FileSystem.size(copy) < pages * size {
      // Pages behind the end of the file would be read as zeros.
      try connection.close()
      try DamagedFile.extend(copy, to: pages * size, isInterrupted)
      connection = try Connection.openDamaged(copy, key: key, settings)
    }
    self.connection = connection
    questions = Connection.mostQuestions(bytes: pages * size)
    let probes = [Int64.min, .max].map { "SELECT count(*) FROM sqlite_master WHERE rowid = \($0)" }
    guard
      let probe = probes.first(where: { probe in
        Self.inTransaction(connection) {
          (try? connection.integer(probe)) != nil && (try? connection.integer(probe)) != nil
        }
      })
    else { throw DatabaseError(.corrupt, "\(path) is damaged where its tables are listed: restore a backup") }
    self.probe = probe
  }

  /// - Throws: `busy` when the original has changed since it was copied.
  package func requireUnchanged() throws {
    guard stamp == FileStamp(path) else { throw DamagedFile.inUse(path) }
  }

  /// Calls `body` with each row that `sql` gives, up to the first that cannot be read.
  ///
  /// - Returns: whether all could be read.
  /// - Throws: what `body` throws, and `cancelled`.
  package func forEachRow(_ sql: String, _ values: SQLValue..., body: (Statement) throws -> Void) throws -> Bool {
    var failure: (any Error)?
    let isWhole = Self.inTransaction(connection) {
      do {
        var questionsLeft = questions
        return try connection.withInterruption(every: Connection.stepsPerQuestion) {
          questionsLeft -= 1
          return questionsLeft < 0 || isInterrupted()
        } during: {
          try connection.withStatement(sql) { row in
            row.bind(values)
            while try row.step() {
              _ = try connection.integer(probe)
              do { try body(row) } catch {
                failure = error
                return false
              }
            }
            _ = try connection.integer(probe)
            return true
          }
        }
      } catch {
        return false
      }
    }
    if let failure { throw failure }
    try DamagedFile.stopIf(isInterrupted)
    return isWhole
  }

  private static func inTransaction(_ connection: Connection, _ body: () -> Bool) -> Bool {
    defer { try? connection.execute("ROLLBACK") }
    return (try? connection.execute("BEGIN")) != nil && body()
  }
}

extension Connection {
  /// As ``open(_:key:options:)`` for reading, where the schema need not be readable: what comes before the damage in it
  /// is known then, and a file that was cut is opened.
  fileprivate static func openDamaged(
    _ path: String, key: EncryptionKey, _ settings: Cipher.Settings
  ) throws -> Connection {
    let older = olderGenerations(than: try libraryVersion())
    for generation in [nil] + older.map(Optional.some) {
      do {
        return try openDamaged(path, key, settings, olderGeneration: generation)
      } catch let error as DatabaseError where error.code == .wrongKey {
        continue
      }
    }
    let error = DatabaseError(.wrongKey, DatabaseError.wrongKeyText(path))
    throw key.resemblesRawKey ? .nearRawKey(path, error) : error
  }

  private static func openDamaged(
    _ path: String, _ key: EncryptionKey, _ settings: Cipher.Settings, olderGeneration: Int?
  ) throws -> Connection {
    let version = try libraryVersion()
    // The WAL of the copy stays, for what it lost is reported; a journal is rolled back.
    let hasWAL = FileSystem.size(path + SideFiles.wal) > 0
    let handle = try openHandle(path, hasWAL ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE)
    let format =
      olderGeneration.map { FileFormat(olderGeneration: $0) } ?? .recognised(handle, key, libraryVersion: version)
    let connection = Connection(
      handle: handle, path: path, cipher: format.cipher(libraryVersion: version), access: .readOnly)
    silenceLog(handle)
    try connection.give(key, settings)
    if format.hasReadableHeader {
      // The first page need not decrypt for what is read below; a schema that is damaged behind it is another matter.
      do { try connection.proveKey() } catch let error as DatabaseError where error.code == .corrupt {}
    }
    try connection.execute(
      "PRAGMA cipher_log_level = NONE; PRAGMA temp_store = MEMORY; PRAGMA writable_schema = ON; PRAGMA query_only = ON")
    // Reads the first page and not the schema behind it.
    _ = try connection.integer("PRAGMA schema_version")
    connection.markProven()
    // The first statement meets damage in the schema; those after it know what was read of it.
    _ = try? connection.integer("SELECT count(*) FROM sqlite_master")
    return connection
  }
}
