import Foundation

/// An encrypted database file: one connection that writes, and one that reads beside it.
///
/// In WAL mode readers do not wait for the writer, nor the writer for them. Safe to use from any thread; no transaction
/// outlives a call.
///
/// The work of a write may read. Every other call of the same database from inside its work traps, since two threads
/// could wait for each other: a write inside a read, a write inside a write, a read inside a read.
public final class Database: Sendable {
  /// The file's path, from the root on and without symbolic links.
  public let path: String
  public let options: Connection.Options
  /// Before the writer, so that it is let go of first: the last connection to close takes the log file away, which one
  /// that only reads cannot.
  private let reader: ConnectionQueue
  private let writer: ConnectionQueue
  private let keys: KeysInForce

  /// Opens the file at `path`, or makes it.
  ///
  /// A new file is built aside, by `prepare`, and published complete: nobody ever sees half of it.
  ///
  /// - Parameters:
  ///   - creating: whether an absent file is made; otherwise it is `notFound`. A file that is gone later is not made
  ///     anew: calls throw `fileReplaced` until one stands there again.
  ///   - previous: the key that may still be in force, if a rotation was cut short. It is tried only where `key` does not
  ///     fit; who may write then finishes the rotation, and otherwise ``isRotationPending`` tells.
  ///   - prepare: brings the schema up to date on a connection that may write; not called when
  ///     `options.access` is `.readOnly`. Called again whenever the file has to be opened anew.
  /// - Throws: as ``Connection/open(_:key:options:)``, and what `prepare` throws.
  public init(
    path: String, key: EncryptionKey, previous: EncryptionKey? = nil, options: Connection.Options = .init(),
    creating: Bool, prepare: @escaping @Sendable (Connection) throws -> Void
  ) throws {
    let path = try FileSystem.absolute(path)
    self.path = path
    self.options = options
    // Now, and not whenever the file is opened anew: one that is gone then was moved, and another in its place would
    // hide that.
    if creating, options.access == .readWrite, access(path, F_OK) != 0, errno == ENOENT {
      _ = try Self.create(path, key: key, hasReadableHeader: options.hasReadableHeader, prepare: prepare)
    }
    let keys = KeysInForce(key, previous)
    self.keys = keys
    writer = ConnectionQueue(label: "EncryptedSQLite.writer", path: path) {
      let connection = try keys.open(path, options)
      if options.access == .readWrite {
        try prepare(connection)
        // Last, for it changes the file: one that `prepare` refuses stays as it is.
        try connection.useWriteAheadLog()
      }
      return connection
    }
    // Not used before the writer has opened the file, below.
    reader = ConnectionQueue(label: "EncryptedSQLite.reader", path: path, inside: writer, hasOpened: true) {
      var options = options
      options.access = .readOnly
      return try keys.open(path, options)
    }
    // Fails here and now, not at the first row.
    try writer.run { _ in }
    // The file stays under the previous key, for this one must not become its key.
    if isRotationPending { try key.requireChosen() }
    guard previous != nil, options.access == .readWrite else { return }
    // Done already, it is made durable: whoever keeps the keys may drop the previous one from now on. What stands in the
    // way of finishing it may be gone at the next opening.
    if isRotationPending {
      _ = try? rotateEncryptionKey(to: key)
    } else {
      _ = try writer.run { try KeyRotation.makeDurable($0) }
    }
  }

  /// Whether the file is under the previous key: a rotation was cut short, and could not be finished yet.
  public var isRotationPending: Bool { keys.isPreviousInForce }

  /// Makes a new encrypted file at `path`: complete, or not at all.
  ///
  /// - Parameter hasReadableHeader: see ``Connection/Options/hasReadableHeader``.
  /// - Returns: false when another process made one first.
  /// - Throws: what `prepare` throws; `invalidRawKey` for a key that ``EncryptionKey/resemblesRawKey``; `notFound` for a
  ///   missing folder, `permissionDenied`, `diskFull`,
  ///   `readableHeaderUnavailable`.
  public static func create(
    _ path: String, key: EncryptionKey, hasReadableHeader: Bool = false, prepare: (Connection) throws -> Void
  ) throws -> Bool {
    try key.requireChosen()
    return try NewFile.publish(try FileSystem.absolute(path)) {
      try build($0, key: key, hasReadableHeader: hasReadableHeader, prepare: prepare)
    }
  }

  /// Makes the new, empty file at `aside`, which nobody else knows, an encrypted database.
  package static func build(
    _ aside: String, key: EncryptionKey, hasReadableHeader: Bool = false, prepare: (Connection) throws -> Void
  ) throws {
    let connection = try Connection.openNew(
      aside, key: key, format: FileFormat(hasReadableHeader: hasReadableHeader))
    // An unfinished one is thrown away: it needs neither a journal nor syncs.
    try connection.execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY")
    try prepare(connection)
    try connection.execute("PRAGMA journal_mode = WAL")
    try connection.close()
  }

  // MARK: Work

  /// Runs `body` in a transaction that holds the write lock from its start.
  public func write<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    try writer.run { connection in try connection.writeTransaction { try body(connection) } }
  }

  /// As the synchronous form, without blocking a thread; cancelling the task rolls back.
  public func write<Result: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Result
  ) async throws -> Result {
    try await writer.run { connection in try connection.writeTransaction { try body(connection) } }
  }

  /// Runs `body` on one unchanging view of the database.
  public func read<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    try reader.run { connection in try connection.readTransaction { try body(connection) } }
  }

  /// As the synchronous form, without blocking a thread; cancelling the task interrupts it.
  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Result
  ) async throws -> Result {
    try await reader.run { connection in try connection.readTransaction { try body(connection) } }
  }

  /// Runs `body` on the writing connection outside any transaction, for what cannot run inside one (`VACUUM`).
  public func withWriter<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    try writer.run(body)
  }

  /// Calls `body` with the key in force, while this database has no connection that writes, nor one that reads unless
  /// `reading`. Whoever reads meanwhile opens the file anew under whichever key fits.
  func rotating<Result>(to new: EncryptionKey, reading: Bool, _ body: (EncryptionKey) throws -> Result) throws -> Result
  {
    try writer.withoutConnection {
      let old = keys.current
      let before = keys.state
      keys.expect(new, after: old)
      do {
        let result = try reading ? body(old) : reader.withoutConnection { try body(old) }
        keys.expect(new, after: nil)
        return result
      } catch let error as DatabaseError where error.code == .rotationUnconfirmed {
        throw error
      } catch {
        keys.state = before
        throw error
      }
    }
  }

  /// Which SQLCipher reads the file, and in which generation's format; nil when it cannot be opened now.
  public var cipher: Cipher? { try? writer.run { $0.cipher } }

  /// The key that opened the file last.
  package var keyInForce: EncryptionKey { keys.current }

  /// Ends all work and closes the file; the WAL is checkpointed unless another process reads it. Both connections are
  /// closed as far as they can be, also where one of them cannot.
  public func close() throws {
    let reading = Result { try reader.close() }
    try writer.close()
    try reading.get()
  }
}

/// The keys that the connections of one database open with.
private final class KeysInForce: Sendable {
  struct State: Sendable {
    var key: EncryptionKey
    var previous: EncryptionKey?
    /// Whether the file is under the previous key, as far as is known.
    var isPrevious = false

    /// The key that opened the file last, or is to be tried first.
    var current: EncryptionKey { isPrevious ? previous ?? key : key }
  }

  private let guarded: Locked<State>

  init(_ key: EncryptionKey, _ previous: EncryptionKey?) {
    guarded = Locked(State(key: key, previous: previous.flatMap { $0 == key ? nil : $0 }))
  }

  var state: State {
    get { guarded.snapshot }
    set { guarded.replace(with: newValue) }
  }

  var current: EncryptionKey { state.current }

  var isPreviousInForce: Bool { state.isPrevious }

  /// From now on the file is under `new`, or still under `old` where that is given.
  func expect(_ new: EncryptionKey, after old: EncryptionKey?) {
    state = State(key: new, previous: old, isPrevious: old != nil)
  }

  /// Opens the file under the key that fitted last, or else under the other one: another process may have finished the
  /// rotation.
  func open(_ path: String, _ options: Connection.Options) throws -> Connection {
    let tried = state
    do {
      return try Connection.open(path, key: tried.current, options: options)
    } catch let error as DatabaseError where error.isOfKey {
      guard let other = tried.isPrevious ? tried.key : tried.previous else { throw error }
      do {
        let connection = try Connection.open(path, key: other, options: options)
        guarded.withLock { if $0.current != other { $0.isPrevious.toggle() } }
        return connection
      } catch let second as DatabaseError where second.isOfKey {
        throw error
      }
    }
  }
}
