import Foundation

extension Connection {
  /// Whether the file's pages have MACs: the format of SQLCipher 1 has none.
  public var hasPageMACs: Bool { cipher.generation >= 2 }

  /// Whether page MACs can be checked one by one: SQLCipher 4 and later, and only while no page waits in the
  /// write-ahead log, for the check reads the main file alone.
  public var canCheckPageMACs: Bool {
    hasPageMACs && Cipher.generation(of: cipher.libraryVersion) >= 4 && FileSystem.size(path + "-wal") == 0
  }

  /// The pages whose MAC does not fit, as SQLCipher words them; empty when all do.
  public func failedPageMACs() throws -> [String] {
    try firstColumn("PRAGMA cipher_integrity_check")
  }

  /// Reads every page that belongs to a table or an index, and the indexes against their tables.
  ///
  /// - Returns: at most `limit` faults as SQLite words them; empty when there is none.
  /// - Throws: `corrupt` when damage keeps even the check from going on.
  public func integrityFaults(limit: Int = 20) throws -> [String] {
    try firstColumn("PRAGMA integrity_check(\(limit))").filter { $0 != "ok" }
  }

  public var pageCount: Int {
    get throws { Int(try integer("PRAGMA page_count") ?? 0) }
  }

  private func firstColumn(_ sql: String) throws -> [String] {
    var texts: [String] = []
    try forEachRow(sql) { texts.append($0.string(at: 0)) }
    return texts
  }
}
