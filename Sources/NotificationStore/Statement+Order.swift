import EncryptedSQLite

extension Statement {
  /// The id in the first column of the current row.
  ///
  /// - Throws: `corrupt` when it is not above `last`: in a damaged or forged file the tree of a table may lead back into
  ///   itself, and reading on would never end.
  @usableFromInline
  package func ascendingID(after last: Int64) throws -> Int64 {
    let id = int64(at: 0)
    guard id > last else {
      throw DatabaseError(
        .corrupt,
        "the store is damaged (row \(id) comes after row \(last)): run verify, and restore a backup or salvage it")
    }
    return id
  }
}
