import Foundation

/// What a fresh connection finds in a file.
struct FileState {
  let counts: TableCounts
  let pages: Int
  let generation: Int

  /// What is in a copy that has no name yet, which is to hold `expected`. A fault of it is told under the name of what it
  /// is a copy for.
  ///
  /// - Throws: `copyFailed`.
  static func ofCopy(
    _ aside: String, for path: String, _ key: EncryptionKey, _ busyTimeout: Double?, expecting expected: TableCounts,
    hasLog: Bool = false
  ) throws -> FileState {
    do {
      let copy = try FileState(aside, key, busyTimeout, access: hasLog ? .readWrite : .readOnly, hasLog: hasLog)
      guard copy.counts == expected else {
        throw DatabaseError(
          .copyFailed,
          "the copy for \(path) does not hold what it should, and was thrown away: run verify on its source")
      }
      return copy
    } catch let error as DatabaseError where error.code != .diskFull && error.code != .copyFailed {
      throw DatabaseError(
        error.code == .corrupt ? .copyFailed : error.code,
        "the copy for \(path) could not be read back, and was thrown away (\(error.code.rawValue)): run verify on its source",
        sqliteCode: error.sqliteCode)
    }
  }

  /// - Parameter hasLog: whether the file is brought into the write-ahead log's mode.
  init(
    _ path: String, _ key: EncryptionKey, _ busyTimeout: Double?, access: Connection.Access, hasLog: Bool = false
  ) throws {
    let connection = try Connection.open(path, key: key, options: .init(access: access, busyTimeout: busyTimeout))
    if hasLog { try connection.useWriteAheadLog() }
    try connection.requireSound()
    counts = try TableCounts(connection)
    pages = try connection.pageCount
    generation = connection.cipher.generation
    try connection.close()
  }
}

/// The number of rows of every table.
struct TableCounts: Equatable {
  let counts: [String: Int64]

  /// - Throws: `corrupt` when counting does not come to an end.
  init(_ connection: Connection) throws {
    counts = try connection.withBoundedWork { try Self.count(connection) }
  }

  private static func count(_ connection: Connection) throws -> [String: Int64] {
    var counts: [String: Int64] = [:]
    var names: [String] = []
    try connection.forEachRow("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0") {
      names.append($0.string(at: 0))
    }
    for name in names {
      // A name in a file of somebody else's making.
      let quoted = "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
      counts[name] = try connection.integer("SELECT count(*) FROM \(quoted) WHERE 1")
    }
    return counts
  }
}

extension Connection {
  /// The main file's size with its log folded in, in bytes.
  var byteCount: Int {
    get throws { try pageCount * pageSize }
  }

  /// Reads every page in use.
  ///
  /// - Throws: `corrupt`.
  func requireSound() throws {
    // In a transaction, for SQLCipher tells of the last page that was read at the next one.
    guard isInTransaction else { return try readTransaction { try requireSound() } }
    let answer = try text("PRAGMA quick_check(1)") ?? ""
    try requirePagesDecrypted()
    guard answer != "ok" else { return }
    throw DatabaseError(
      .corrupt, "\(path) is damaged (\(answer)): run verify, and restore a backup or salvage what it still holds")
  }
}
