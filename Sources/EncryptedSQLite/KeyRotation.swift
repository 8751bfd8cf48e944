import Foundation

/// Gives an encrypted file another key, so that at every moment one of the two opens it.
///
/// Before the change is committed every doubt is an error, and the old key is in force. Afterwards the new one is; where
/// that cannot be confirmed, `rotationUnconfirmed` says to keep both keys and to run it again, which confirms or finishes.
struct KeyRotation {
  let path: String
  let old: EncryptionKey
  let new: EncryptionKey
  let options: Options

  struct Options {
    /// Whether the file is copied, under a new salt and without free pages. A key with a salt asks for that anyway.
    var isRewriting = false
    /// How long to wait for other users of the file, in seconds.
    var busyTimeout: Double?
    /// Asked until the change begins; true ends the rotation with `cancelled`, the old key in force.
    var isInterrupted: () -> Bool = { false }
  }

  /// - Throws: `invalidArgument` (the new key is the old one), `busy`, `diskFull`, `corrupt`, `cancelled`,
  ///   `rotationFailed`, `readableHeaderUnavailable`, and what opening throws: the old key is in force, and the file is as it was.
  ///   `rotationUnconfirmed`: keep both keys, and run it again.
  func run() throws -> RotationReport {
    guard !old.isSameKey(as: new) else {
      throw DatabaseError(.invalidArgument, "the new key is the old one: make another key, as with keygen")
    }
    try Connection.checkFile(path, for: .readWrite)
    let lock = try PathLock(path, timeout: options.busyTimeout)
    defer { lock.release() }
    do {
      let connection = try open(old)
      try connection.cipher.format.require(new, libraryVersion: connection.cipher.libraryVersion)
      return try options.isRewriting || new.kind == .rawKeyWithSalt ? rewrite(connection) : rotateInPlace(connection)
    } catch let error as DatabaseError where error.isOfKey || [.keyChanged, .fileReplaced].contains(error.code) {
      // Another run has come before this one, or between its steps.
      guard let report = try confirmEarlierRun() else { throw error }
      return report
    }
  }

  // MARK: In place

  private func rotateInPlace(_ connection: Connection) throws -> RotationReport {
    let clock = Clock()
    // The log, or the journal, takes every page once more.
    try FileSystem.requireSpace(try connection.byteCount, beside: path, for: "a rotation of \(path)")
    try connection.requireSound()
    try replacement.stopIfInterrupted()
    var proved = 0.0
    var before: TableCounts?
    var frames = 0
    let (hint, isLogFoldedIn) = try replacement.naming(path) {
      try connection.rekey(to: new) { connection in
        before = try TableCounts(connection)
        frames = committedFrames
        proved = clock.seconds
      }
    }
    // A directory entry that comes or goes with a journal.
    let isSynced = (try? FileSystem.syncFolder(of: path)) != nil
    let rotated = clock.seconds
    let after = try decide(hint, frames: frames)
    // A commit that complained may not be on the medium, though the file reads as if it were.
    let isDurable = isSynced && (hint == nil || (try? confirm(open(new))) == true)
    guard isDurable, after.counts == before else {
      throw unconfirmed("it could not be compared with what it held")
    }
    return report(
      .inPlace, after, isLogFoldedIn: isLogFoldedIn, proving: proved + clock.seconds - rotated,
      rotating: rotated - proved)
  }

  /// Which key is in force, by fresh connections alone.
  ///
  /// - Parameter frames: the WAL's committed frames before the change.
  /// - Throws: `rotationFailed` when it is the old one, or what `hint` tells of the reason.
  private func decide(_ hint: DatabaseError?, frames: Int = .max) throws -> FileState {
    do {
      let state = try FileState(path, new, options.busyTimeout, access: .readWrite)
      guard try !opens(under: old) else { throw unconfirmed("both keys open it") }
      return state
    } catch let error as DatabaseError where error.isOfKey {
      guard (try? opens(under: old)) == true else { throw unconfirmed("neither key opens it now") }
      // Frames of a commit whose sync failed are still in the WAL, and the process that opens the file when all others are
      // gone would take them for whole. A commit of its own, under the old key, overwrites their beginning.
      guard committedFrames <= frames || (try? settle()) != nil else { throw unconfirmed("its log cannot be written") }
      let code = hint.map(\.code) ?? .rotationFailed
      let known: [DatabaseError.Code] = [.busy, .diskFull, .inputOutput, .corrupt]
      throw DatabaseError(
        known.contains(code) ? code : .rotationFailed,
        "\(path) was not given the new key; the old one is in force and nothing is lost: see that the disk has room and "
          + "no fault, run verify, and try again", sqliteCode: hint?.sqliteCode)
    } catch let error as DatabaseError where error.code != .rotationUnconfirmed {
      throw unconfirmed(error.message)
    }
  }

  // MARK: By a copy

  private func rewrite(_ connection: Connection) throws -> RotationReport {
    let clock = Clock()
    let proved: Double
    let outcome: FileReplacement.Outcome
    do {
      try FileSystem.requireSpace(try connection.byteCount, beside: path, for: "a rotation of \(path)")
      try connection.requireSound()
      proved = clock.seconds
    } catch {
      try? connection.close()
      throw error
    }
    outcome = try replacement.run(connection) {
      try TableCounts($0)
    } build: { connection, aside in
      try connection.export(
        to: aside, key: new, format: connection.cipher.format, isInterrupted: options.isInterrupted)
    }
    do {
      try FileSystem.syncFolder(of: path)
      let rotated = clock.seconds
      let after = try decide(nil)
      guard after.counts == outcome.copy.counts else { throw unconfirmed("it could not be compared with what it held") }
      let proving = proved + outcome.provingSeconds
      return report(
        .rewrite, after, isLogFoldedIn: true, proving: proving + clock.seconds - rotated, rotating: rotated - proving)
    } catch let error as DatabaseError where error.code != .rotationUnconfirmed {
      throw unconfirmed(error.message)
    }
  }

  private var replacement: FileReplacement {
    FileReplacement(
      what: "the rotation of \(path)", key: new, busyTimeout: options.busyTimeout, isInterrupted: options.isInterrupted)
  }

  // MARK: Steps

  /// A connection that may write, for one that only reads would not undo a change that was cut short.
  private func open(_ key: EncryptionKey) throws -> Connection {
    try Connection.open(path, key: key, options: .init(busyTimeout: options.busyTimeout))
  }

  private func opens(under key: EncryptionKey) throws -> Bool {
    do {
      try open(key).close()
      return true
    } catch let error as DatabaseError where error.isOfKey {
      return false
    }
  }

  /// The old key does not fit. If the new one does, an earlier run has come to its change, and what is left of it is to
  /// make that durable.
  private func confirmEarlierRun() throws -> RotationReport? {
    let clock = Clock()
    let connection: Connection
    do {
      connection = try open(new)
    } catch let error as DatabaseError where error.isOfKey {
      return nil
    } catch let error as DatabaseError {
      throw unconfirmed(error.message)
    }
    let isLogFoldedIn: Bool
    do {
      NewFile.removeAbandoned(beside: path)
      isLogFoldedIn = try Self.makeDurable(connection)
      try connection.close()
    } catch let error as DatabaseError {
      throw unconfirmed(error.message)
    }
    return try reportDone(isLogFoldedIn: isLogFoldedIn, clock)
  }

  /// The report on a file that is under the new key already.
  func reportDone(isLogFoldedIn: Bool = true, _ clock: Clock = Clock()) throws -> RotationReport {
    do {
      let state = try FileState(path, new, options.busyTimeout, access: .readWrite)
      return report(
        .inPlace, state, isLogFoldedIn: isLogFoldedIn, proving: clock.seconds, rotating: 0, wasDone: true)
    } catch let error as DatabaseError {
      throw unconfirmed(error.message)
    }
  }

  /// Brings what `connection` sees to the medium: the log, whoever reads from it, and the names in the folder.
  ///
  /// - Returns: whether the log is folded in, so that the main file alone is under its key.
  @discardableResult
  static func makeDurable(_ connection: Connection) throws -> Bool {
    try connection.withSynchronous("EXTRA") {
      var isFoldedIn = true
      do {
        // The log is synced before its first page is copied, also where a reader keeps it from being emptied.
        try connection.foldLogIn()
      } catch let error as DatabaseError where error.code == .busy {
        isFoldedIn = false
      }
      try FileSystem.syncFolder(of: connection.path)
      return isFoldedIn
    }
  }

  private func confirm(_ connection: Connection) throws -> Bool {
    defer { try? connection.close() }
    return (try? Self.makeDurable(connection)) != nil
  }

  /// The WAL's frames up to its last commit, whether that was acknowledged or not.
  private var committedFrames: Int { (try? WriteAheadLog(of: path))?.committedFrames ?? 0 }

  /// Commits something under the old key, which changes nothing.
  private func settle() throws {
    let connection = try open(old)
    defer { try? connection.close() }
    try connection.execute("PRAGMA synchronous = EXTRA")
    try connection.writeTransaction {
      try connection.execute("PRAGMA user_version = \(try connection.integer("PRAGMA user_version") ?? 0)")
    }
  }

  private func unconfirmed(_ reason: String) -> DatabaseError {
    DatabaseError(
      .rotationUnconfirmed,
      "the new key of \(path) is not confirmed (\(reason)): keep both keys, and run the rotation again")
  }

  private func report(
    _ method: RotationReport.Method, _ state: FileState, isLogFoldedIn: Bool, proving: Double, rotating: Double,
    wasDone: Bool = false
  ) -> RotationReport {
    RotationReport(
      path: path, method: method, wasDone: wasDone, oldKey: old.kind, newKey: new.kind, pages: state.pages,
      generation: state.generation, isLogFoldedIn: isLogFoldedIn, provingSeconds: proving, rotatingSeconds: rotating)
  }
}

/// Seconds since its making, whatever happens to the time of day.
struct Clock {
  private let start = DispatchTime.now()
  var seconds: Double { Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e9 }
}
