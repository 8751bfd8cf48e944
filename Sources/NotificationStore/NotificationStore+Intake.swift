import EncryptedSQLite

extension NotificationStore {
  /// What became of one push.
  public struct Intake: Sendable, Equatable {
    /// The row of the visible notification: a new one, or the one that the push had already.
    public var notificationId: Int64?
    /// Whether the notification was merged with the row of an earlier delivery.
    public var isMerged = false
    /// The row of the silent push.
    public var silentPushId: Int64?

    public init(notificationId: Int64? = nil, isMerged: Bool = false, silentPushId: Int64? = nil) {
      self.notificationId = notificationId
      self.isMerged = isMerged
      self.silentPushId = silentPushId
    }
  }

  /// Stores a push; one push is one row.
  ///
  /// Two deliveries of a push are the same when request identifier and content as delivered are equal, they are within
  /// a day of each other, and both are deliveries or both are responses: then the first row stays as it is. A push
  /// without an identifier is never merged.
  @discardableResult
  public func record(_ push: PushRecords) throws -> Intake {
    try record([push])[0]
  }

  /// Stores pushes in their order: all, or none.
  @discardableResult
  public func record(_ pushes: [PushRecords]) throws -> [Intake] {
    let deviceId = deviceId
    return try database.write { try Self.record(pushes, deviceId, $0) }
  }

  /// As the synchronous form, without blocking a thread.
  @discardableResult
  public func record(_ pushes: [PushRecords]) async throws -> [Intake] {
    let deviceId = deviceId
    return try await database.write { try Self.record(pushes, deviceId, $0) }
  }

  private static let notificationSQL = TableSQL(NotificationData.self)
  private static let silentPushSQL = TableSQL(SilentPushData.self)
  private static let oneDay: Int64 = 86_400_000

  private static func record(_ pushes: [PushRecords], _ deviceId: String, _ connection: Connection) throws -> [Intake] {
    try pushes.map { push in
      var intake = Intake()
      if let notification = push.notification {
        if let id = try idOfSamePush(notification, connection) {
          intake.notificationId = id
          intake.isMerged = true
        } else {
          intake.notificationId = try Repository.insert([notification], notificationSQL, deviceId, connection)[0]
        }
      }
      if let silentPush = push.silentPush {
        intake.silentPushId = try Repository.insert([silentPush], silentPushSQL, deviceId, connection)[0]
      }
      return intake
    }
  }

  private static func idOfSamePush(_ notification: NotificationData, _ connection: Connection) throws -> Int64? {
    guard !notification.notificationId.isEmpty else { return nil }
    // The two terms before the last are those of the partial index ios_notification_push.
    let sql = """
      SELECT id FROM ios_notification WHERE notificationId = ?1 AND contentDigest = ?2 AND notificationId <> ''
        AND contentDigest IS NOT NULL AND timestamp BETWEEN ?3 AND ?4
        AND source IN (\(notification.source.isDelivery ? "'foreground', 'extension'" : "'\(notification.source.rawValue)'"))
        ORDER BY id LIMIT 1
      """
    return try connection.withStatement(sql) { statement in
      statement.bind(notification.notificationId, at: 1)
      notification.withContentDigest { statement.bind(blob: $0, at: 2) }
      statement.bind(notification.timestamp - oneDay, at: 3)
      statement.bind(notification.timestamp + oneDay, at: 4)
      return try statement.step() ? statement.int64(at: 0) : nil
    }
  }
}
