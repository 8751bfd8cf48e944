import EncryptedSQLite
import Foundation

/// An encrypted store of notifications, device tokens and silent pushes.
///
/// Safe to use from any thread. Opening brings the schema up to date; a new store is made complete or not at all.
///
/// ```swift
/// let store = try NotificationStore(.init(path: path, key: EncryptionKey("correct horse battery staple")))
/// try store.record(PushRecords(payload: userInfo, identifier: request.identifier))
/// ```
public final class NotificationStore: Sendable {
  public struct Configuration: Sendable {
    public var path: String
    public var key: EncryptionKey
    /// The key that may still be in force, if a rotation to `key` was cut short.
    public var previousKey: EncryptionKey?
    public var access: Connection.Access
    /// Whether an absent store is made, if `access` allows writing.
    public var creating: Bool
    /// Whether a store that is made leaves its first 32 bytes in the clear, for a container that apps share on iOS. See
    /// ``EncryptedSQLite/Connection/Options/hasReadableHeader``.
    public var hasReadableHeader: Bool
    public var synchronous: Connection.Synchronous
    /// Rows older than this, in seconds, are deleted once they are sent, in the background: after opening and once an hour.
    /// Nil keeps them.
    public var maximumAge: TimeInterval?
    /// Whether `maximumAge` also deletes rows that were never sent.
    public var deletesUnsentRows: Bool
    /// The device id that a new store takes for records that bring none; nil makes one.
    public var deviceId: String?
    /// The steps of the schema.
    public var migrator: SchemaMigrator
    /// Whether the store is opened for a moment beside its owner, which sees to its upkeep: schema, age, spool.
    package var isGuest = false
    /// Whether what waits in the spool is left there, as where another store is about to take this one's place.
    package var leavesSpool = false
    package var expirySchedule = Expiry.Schedule()
    /// Called after each run of the deletion by age: with the number of rows, or what stood in its way.
    package var reportExpiry: @Sendable (Result<Int, DatabaseError>) -> Void = { _ in }

    public init(
      path: String, key: EncryptionKey, previousKey: EncryptionKey? = nil, access: Connection.Access = .readWrite,
      creating: Bool = true, hasReadableHeader: Bool = false,
      synchronous: Connection.Synchronous = .normal, maximumAge: TimeInterval? = nil, deletesUnsentRows: Bool = false,
      deviceId: String? = nil, migrator: SchemaMigrator = SchemaMigrator()
    ) {
      self.path = path
      self.key = key
      self.previousKey = previousKey
      self.access = access
      self.creating = creating
      self.hasReadableHeader = hasReadableHeader
      self.synchronous = synchronous
      self.maximumAge = maximumAge
      self.deletesUnsentRows = deletesUnsentRows
      self.deviceId = deviceId
      self.migrator = migrator
    }
  }

  public let database: Database
  public let notifications: Repository<NotificationData>
  public let tokens: Repository<NotificationTokenData>
  public let silentPushes: Repository<SilentPushData>
  /// The device id of records that bring none.
  public let deviceId: String
  /// What waited in the store's spool and was imported when it was opened for writing.
  public let spool: SpoolReport
  package let configuration: Configuration
  private let expiry: Expiry?
  /// A thousand years, in seconds.
  private static let longestAge: TimeInterval = 1000 * 366 * 86_400

  /// Opens the store, or makes it.
  ///
  /// - Throws: as ``EncryptedSQLite/Connection/open(_:key:options:)`` and ``SchemaMigrator/migrate(_:)``; with
  ///   `.readOnly`, `migrationNeeded` for a store of an older version.
  public init(_ configuration: Configuration) throws {
    if let age = configuration.maximumAge, !(1...Self.longestAge).contains(age) {
      throw DatabaseError(.invalidArgument, "maximumAge is \(age) seconds: give one from 1 second to 1000 years")
    }
    self.configuration = configuration
    let migrator = configuration.migrator
    database = try Database(
      path: configuration.path, key: configuration.key, previous: configuration.previousKey,
      options: .init(
        access: configuration.access, synchronous: configuration.synchronous,
        hasReadableHeader: configuration.hasReadableHeader),
      creating: configuration.creating
    ) { connection in
      if configuration.isGuest {
        try Self.requireCurrentVersion(connection, migrator)
      } else {
        try migrator.migrate(connection)
      }
    }
    deviceId = try database.withWriter { connection in
      // A service extension has 24 MB for everything, and looks at a few pages.
      if configuration.isGuest { try connection.execute("PRAGMA cache_size = -256") }
      try Self.requireCurrentVersion(connection, migrator)
      return try Self.deviceId(connection, configuration.access, new: configuration.deviceId)
    }
    notifications = Repository(database, deviceId: deviceId)
    tokens = Repository(database, deviceId: deviceId)
    silentPushes = Repository(database, deviceId: deviceId)
    guard configuration.access == .readWrite, !configuration.isGuest else {
      spool = SpoolReport()
      expiry = nil
      return
    }
    spool = configuration.leavesSpool ? SpoolReport() : Self.spoolTakenIn(to: database, configuration, deviceId)
    expiry = Expiry(database, configuration)
    expiry?.start()
  }

  /// Makes a new store at `path`: complete, or not at all.
  ///
  /// - Parameter hasReadableHeader: see ``Configuration/hasReadableHeader``.
  /// - Returns: false when there is a file already, which is left as it is.
  public static func create(
    _ path: String, key: EncryptionKey, hasReadableHeader: Bool = false, migrator: SchemaMigrator = .init()
  ) throws -> Bool {
    try Database.create(path, key: key, hasReadableHeader: hasReadableHeader) { try migrator.migrate($0) }
  }

  /// Whether the store is under the previous key: a rotation was cut short, and could not be finished yet.
  public var isRotationPending: Bool { database.isRotationPending }

  /// Closes the store; further calls throw `closed`.
  public func close() throws { try database.close() }

  private static func requireCurrentVersion(_ connection: Connection, _ migrator: SchemaMigrator) throws {
    guard let step = try migrator.pending(on: connection).first else { return }
    throw DatabaseError(
      .migrationNeeded,
      "\(connection.path) has jsonVersion \(step.version - 1) and this program reads \(migrator.currentVersion): run migrate"
    )
  }

  /// The store's own device id, made once.
  static func deviceId(
    _ connection: Connection, _ access: Connection.Access, new: String? = nil
  ) throws -> String {
    let query = "SELECT value FROM store_property WHERE name = 'deviceId'"
    if let deviceId = try connection.text(query) { return deviceId }
    guard access == .readWrite else { return "" }
    return try connection.writeTransaction {
      try connection.run(
        "INSERT OR IGNORE INTO store_property (name, value) VALUES ('deviceId', ?)", .text(new ?? UUID().uuidString))
      return try connection.text(query) ?? ""
    }
  }
}
