import EncryptedSQLite
import Foundation

/// One run of
/// ``PlaintextStore/adopt(at:into:key:deviceId:syncedThrough:ignoringForeignCursors:hasReadableHeader:busyTimeout:)``.
///
/// Before the encrypted store takes its place, the plaintext file gets a second name, `<source>.adopting`, by which it is
/// overwritten and removed afterwards. What is found by that name tells how far an earlier run has come:
///
/// - the file at `source` itself: nothing was published, and the second name is taken away;
/// - another file, and an encrypted store that has its rows: what remains is to overwrite it;
/// - a file that begins with zeros: it was being overwritten.
struct Adoption {
  static let suffix = ".adopting"

  let source: String
  let destination: String
  let key: EncryptionKey
  let deviceId: String?
  let syncedThrough: [String: Int64]
  let ignoresForeignCursors: Bool
  let hasReadableHeader: Bool
  let deadline: Date
  let passing: (AdoptionStage) -> Void

  var leftover: String { source + Self.suffix }
  var isInPlace: Bool { source == destination }

  func run() throws -> AdoptionReport? {
    // A process that waited here for another import finds its work done.
    let lock = try PathLock(source, timeout: deadline.timeIntervalSinceNow)
    defer { lock.release() }
    try removeSecondNamesOfLogs()
    if PlaintextStore.isPlaintext(at: source) { return try adopt() }
    return try exists(leftover) ? finish() : nil
  }

  func exists(_ path: String) throws -> Bool { try FileStatus(path) != nil }

  // MARK: Adopting

  private func adopt() throws -> AdoptionReport {
    try key.requireChosen()
    try Connection.checkFile(source, for: .readWrite)
    let hasSecondName = try FileStatus(source)?.isSameFile(as: FileStatus(leftover)) ?? false
    let isPublished = try !isInPlace && hasSecondName && exists(destination)
    if !isPublished { try clearTheWay(hasSecondName) }
    try requireNames(isPublished ? 2 : 1, source)
    for log in Self.logs { try requireNames(1, source + log) }
    let report: AdoptionReport
    do {
      report = try withLockedSource { try isPublished ? resume($0) : publish($0) }
    } catch let error as DatabaseError {
      // The logs of a store that goes on as it was.
      try? removeSecondNamesOfLogs()
      throw named(error)
    }
    try shredLeftover()
    return report
  }

  /// That nothing stands where the new store, and the second name of the old one, are to come.
  private func clearTheWay(_ hasSecondName: Bool) throws {
    if !isInPlace {
      for path in [destination] + Self.logs.map({ destination + $0 }) where try exists(path) {
        throw DatabaseError(
          .alreadyExists, "\(path) exists already: choose another place for the encrypted store, or move it away")
      }
    }
    if hasSecondName {
      try FileSystem.remove(leftover)
    } else if try exists(leftover) {
      guard try FileSystem.isShreddingBegun(leftover) else {
        throw DatabaseError(
          .adoptionIncomplete,
          "\(leftover) is left of an earlier adoption, and \(source) is another plaintext store: move one of the two away"
        )
      }
      try FileSystem.shred(leftover)
    }
  }

  /// By a name that is not known here, somebody's data would be overwritten.
  private func requireNames(_ count: Int, _ path: String) throws {
    guard let status = try FileStatus(path) else { return }
    // SQLite, which opens these by their names, would follow a link.
    guard status.isRegularFile else {
      throw DatabaseError(.notAFile, "\(path) is not a regular file: move it away")
    }
    if status.names > count { throw FileSystem.otherNames(path) }
  }

  /// Makes the encrypted store and puts it in its place.
  private func publish(_ rows: PlaintextRows) throws -> AdoptionReport {
    let (cursors, ignored) = try cursors(for: rows)
    return try NewFile.withFileAside(beside: destination) { aside in
      try build(aside, from: rows, cursors)
      var report = try verify(aside, against: rows)
      report.ignoredCursors = ignored
      // The store belongs to whom the plaintext one belonged to, also when an administrator adopts it.
      if isInPlace { try FileSystem.takeOwner(of: source, for: aside) }
      try FileSystem.sync(aside)
      passing(.verified)
      do {
        try setAside()
        if isInPlace {
          guard rename(aside, destination) == 0 else { throw FileSystem.error("replace", destination, errno) }
        } else {
          guard link(aside, destination) == 0 else { throw FileSystem.error("make", destination, errno) }
        }
      } catch {
        // Nothing was published: the source keeps the one name it had.
        if try FileStatus(leftover)?.isSameFile(as: FileStatus(source)) == true { unlink(leftover) }
        throw error
      }
      passing(.published)
      if !isInPlace { try removeSource() }
      return report
    }
  }

  /// The encrypted store was published beside the source, which is still there.
  private func resume(_ rows: PlaintextRows) throws -> AdoptionReport {
    NewFile.removeAbandoned(beside: destination)
    let report = try finishedReport { try requireAllRows(of: rows, in: $0) }
    try removeSource()
    return report
  }

  private func removeSource() throws {
    try FileSystem.syncFolder(of: destination)
    try FileSystem.remove(source)
  }

  private func setAside() throws {
    guard link(source, leftover) == 0 else { throw FileSystem.error("make", leftover, errno) }
    try FileSystem.syncFolder(of: leftover)
    passing(.setAside)
  }

  /// The cursors that may be of this file, and what is wrong with the others. A cursor of another file would mark rows of
  /// this one as sent, and the rows to come.
  ///
  /// - Throws: `foreignCursor`, unless they are ignored.
  func cursors(for rows: PlaintextRows) throws -> ([String: Int64], ignored: [DatabaseError]) {
    var cursors: [String: Int64] = [:]
    var ignored: [DatabaseError] = []
    for (table, id) in syncedThrough.sorted(by: { $0.key < $1.key }) {
      let last = try rows.lastId(of: table)
      if id <= last {
        cursors[table] = id
        continue
      }
      let what = "the upload cursor of \(table) is \(id), and the largest id that \(source) gave out there is \(last)"
      guard ignoresForeignCursors else {
        throw DatabaseError(
          .foreignCursor,
          "\(what), so the cursor belongs to another file: give that of this one, or none, and all its records are sent"
        )
      }
      ignored.append(
        DatabaseError(.foreignCursor, "\(what): it belongs to another file and counts as 0, so all records are sent"))
    }
    return (cursors, ignored)
  }

  private func build(_ aside: String, from rows: PlaintextRows, _ cursors: [String: Int64]) throws {
    try Database.build(aside, key: key, hasReadableHeader: hasReadableHeader) { store in
      // A journal in memory would keep a copy of every page that the migrations change.
      try store.execute("PRAGMA journal_mode = OFF")
      try rows.copy(to: store)
      if let deviceId = try deviceId.flatMap({ $0.isEmpty ? nil : $0 }) ?? rows.deviceId() {
        try store.run("INSERT INTO store_property (name, value) VALUES ('deviceId', ?)", .text(deviceId))
      }
      _ = try NotificationStore.deviceId(store, .readWrite)
      for (table, id) in cursors {
        try store.run("UPDATE upload_ledger SET sentThroughId = ? WHERE tableName = ?", .integer(id), .text(table))
      }
    }
    passing(.copied)
  }

  /// Reads the new store again, through the key, and holds it against the rows.
  private func verify(_ aside: String, against rows: PlaintextRows) throws -> AdoptionReport {
    let store = try Connection.open(aside, key: key, options: .init(access: .readOnly))
    try rows.verify(against: store)
    let report = try report(of: store, isOnlyFinished: false)
    try store.close()
    return report
  }

  private func report(of store: Connection, isOnlyFinished: Bool) throws -> AdoptionReport {
    AdoptionReport(
      path: destination,
      counts: try Dictionary(
        uniqueKeysWithValues: NotificationStore.tables.map {
          ($0, Int(try store.integer("SELECT count(*) FROM \($0)") ?? 0))
        }),
      deviceId: try NotificationStore.deviceId(store, .readOnly), isOnlyFinished: isOnlyFinished)
  }

  /// A full disk is told of with the store's own name.
  private func named(_ error: DatabaseError) -> DatabaseError {
    guard error.code == .diskFull else { return error }
    return DatabaseError(
      .diskFull, "the disk is full: free twice the space that \(source) takes and try again; no record is lost",
      sqliteCode: error.sqliteCode)
  }

  // MARK: Finishing

  /// The encrypted store stands at its path: removes the plaintext, if it is known to be in it.
  private func finish() throws -> AdoptionReport {
    guard try FileStatus(leftover)?.isRegularFile == true else {
      throw DatabaseError(.notAFile, "\(leftover) is not a regular file, and in the way of adoptions: move it away")
    }
    // What a kill between two names has left of the encrypted store.
    NewFile.removeAbandoned(beside: destination)
    let isShreddingBegun = try FileSystem.isShreddingBegun(leftover)
    let report = try finishedReport { store in
      guard !isShreddingBegun else { return }
      try naming(leftover) {
        let plaintext = try Connection.openPlaintextAlone(leftover)
        try requireAllRows(of: PlaintextRows(plaintext), in: store)
        try plaintext.close()
      }
    }
    try shredLeftover()
    return report
  }

  /// What is at the destination, opened under the key and looked at by `check`.
  private func finishedReport(_ check: (Connection) throws -> Void) throws -> AdoptionReport {
    do {
      let store = try Connection.open(destination, key: key, options: .init(access: .readOnly))
      try check(store)
      let report = try report(of: store, isOnlyFinished: true)
      try store.close()
      return report
    } catch let error as DatabaseError where error.code != .adoptionIncomplete {
      throw DatabaseError(
        error.code, "\(error.message). The plaintext of an adoption that was cut short is kept as \(leftover)",
        sqliteCode: error.sqliteCode)
    }
  }

  private func requireAllRows(of rows: PlaintextRows, in store: Connection) throws {
    let missing = try rows.countMissing(in: store)
    guard missing > 0 else { return }
    throw DatabaseError(
      .adoptionIncomplete,
      "\(missing) records of \(leftover), which an interrupted adoption left, are not in \(destination): remove "
        + "\(leftover) if they were deleted on purpose; otherwise move the store away and give the file its name back")
  }

  private func shredLeftover() throws {
    // Not before the encrypted store is sure to stand in the plaintext's place.
    try FileSystem.syncFolder(of: destination)
    try FileSystem.syncFolder(of: leftover)
    try FileSystem.shred(leftover) { passing(.shredding) }
    try FileSystem.syncFolder(of: leftover)
    passing(.shredded)
  }
}
