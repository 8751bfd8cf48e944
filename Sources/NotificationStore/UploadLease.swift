import EncryptedSQLite

/// The right to send from a store. It runs out by itself, so that a holder who was killed is in nobody's way for long.
/// Every call belongs inside a transaction.
package struct UploadLease: Sendable {
  /// Who asks, told apart from everybody else.
  package let holder: String

  package init(holder: String) { self.holder = holder }

  /// Takes the lease, or prolongs it.
  ///
  /// - Parameters:
  ///   - now: Unix time in milliseconds.
  ///   - duration: for how long, in milliseconds, up to ``longest``. A lease of somebody else that runs longer than that
  ///     was given by a clock that was wrong, and does not count.
  /// - Returns: nil when it is ours now; otherwise when that of the other holder runs out, in Unix milliseconds.
  package func take(_ connection: Connection, now: Int64, duration: Int64) throws -> Int64? {
    var other: Int64?
    try connection.forEachRow(
      "SELECT expires FROM upload_lease WHERE holder <> ? AND expires > ? AND expires <= ?", .text(holder),
      .integer(now), .integer(now + Self.longest)
    ) { other = $0.int64(at: 0) }
    if let other { return other }
    try connection.run(
      "REPLACE INTO upload_lease (id, holder, expires) VALUES (1, ?, ?)", .text(holder), .integer(now + duration))
    return nil
  }

  package func isHeld(_ connection: Connection) throws -> Bool {
    try connection.integer("SELECT count(*) FROM upload_lease WHERE holder = ?", .text(holder)) == 1
  }

  package func release(_ connection: Connection) throws {
    try connection.run("DELETE FROM upload_lease WHERE holder = ?", .text(holder))
  }

  /// In milliseconds.
  package static let longest: Int64 = 10 * 60_000
}
