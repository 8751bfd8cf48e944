import EncryptedSQLite

extension NotificationStore {
  /// Gives the store another key, after what waits in its spool was taken in. See
  /// ``EncryptedSQLite/Database/rotateEncryptionKey(to:rewriting:)``.
  ///
  /// - Throws: as that; `rotationUnconfirmed` also where something sealed under the old key could not be taken in.
  public func rotateEncryptionKey(to new: EncryptionKey, rewriting: Bool = false) throws -> RotationReport {
    let old = database.keyInForce
    try takeSpoolIn().requireNothingLeft()
    let report = try database.rotateEncryptionKey(to: new, rewriting: rewriting)
    // What a process that still has the old key sealed meanwhile.
    try Self.afterRotation(of: database.path) { try takeSpoolIn([old]).requireNothingLeft() }
    return report
  }

  /// Gives the store at `path` another key, or confirms that an earlier call has. See
  /// ``EncryptedSQLite/Database/rotateEncryptionKey(of:from:to:rewriting:busyTimeout:isInterrupted:)``.
  ///
  /// - Parameters:
  ///   - previous: a key from before `old`, under which something may wait in the spool still.
  ///   - reportFault: is called with what waits there and could not be imported.
  /// - Throws: as that; `rotationUnconfirmed` also where something sealed under the old key could not be taken in.
  public static func rotateEncryptionKey(
    of path: String, from old: EncryptionKey, to new: EncryptionKey, previous: EncryptionKey? = nil,
    rewriting: Bool = false, isInterrupted: @escaping () -> Bool = { false },
    reportFault: (DatabaseError) -> Void = { _ in }
  ) throws -> RotationReport {
    try new.requireChosen()
    let spool = NotificationSpool(besideStore: try FileSystem.absolute(path))
    let keys = [old, new] + [previous].compactMap { $0 }
    if !spool.isEmpty { try takeSpoolIn(to: path, keys).forEach(reportFault) }
    let report = try Database.rotateEncryptionKey(
      of: path, from: old, to: new, rewriting: rewriting, isInterrupted: isInterrupted)
    try afterRotation(of: path) { if !spool.isEmpty { _ = try takeSpoolIn(to: path, keys) } }
    return report
  }

  /// Calls `takeIn` when the new key is in force: no error of it says otherwise.
  private static func afterRotation(of path: String, _ takeIn: () throws -> Void) throws {
    do {
      try takeIn()
    } catch let error as DatabaseError {
      throw DatabaseError(
        .rotationUnconfirmed,
        "\(path) is under its new key, and what waits beside it was not taken in (\(error.message)): keep both keys, and run "
          + "the rotation again", sqliteCode: error.sqliteCode)
    }
  }

  /// By opening the store under whichever of the first two keys is in force.
  ///
  /// - Returns: what stays, and is in the way of nothing.
  private static func takeSpoolIn(to path: String, _ keys: [EncryptionKey]) throws -> [DatabaseError] {
    func open(_ key: EncryptionKey) throws -> NotificationStore {
      var configuration = Configuration(path: path, key: key, creating: false)
      configuration.leavesSpool = true
      return try NotificationStore(configuration)
    }
    let store: NotificationStore
    do {
      store = try open(keys[0])
    } catch let error as DatabaseError where error.isOfKey {
      store = try open(keys[1])
    }
    let report = store.takeSpoolIn(keys)
    try store.close()
    try report.requireNothingLeft()
    return report.faults
  }
}
