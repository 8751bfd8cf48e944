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

  /// Stores a delivered notification, and with it the receipt that is to be sent for it.
  ///
  /// - Parameter leftUntil: when others may send the receipt, in Unix milliseconds; nil keeps none.
  /// - Returns: the receipt, of whichever row the push has.
  package func recordDelivery(_ notification: NotificationData, receiptLeftUntil leftUntil: Int64?) throws
    -> DeliveryReceipt
  {
    let deviceId = deviceId
    return try database.write { connection in
      let intake = try Self.record([PushRecords(notification: notification)], deviceId, connection)[0]
      let recordId = try connection.text(
        "SELECT recordId FROM ios_notification WHERE id = ?", .integer(intake.notificationId ?? 0))
      let receipt = DeliveryReceipt(
        recordId: recordId ?? notification.recordId, notificationId: notification.notificationId,
        receivedAt: notification.timestamp)
      if let leftUntil { try DeliveryReceiptQueue(connection).add(receipt, notBefore: leftUntil) }
      return receipt
    }
  }

  /// The server has the receipt.
  package func removeReceipt(_ receipt: DeliveryReceipt) throws {
    try database.write { try DeliveryReceiptQueue($0).remove(receipt) }
  }

  private static let notificationSQL = TableSQL(NotificationData.self)
  private static let silentPushSQL = TableSQL(SilentPushData.self)
  private static let oneDay: Int64 = 86_400_000

  static func record(_ pushes: [PushRecords], _ deviceId: String, _ connection: Connection) throws -> [Intake] {
    try connection.withStatement(samePushSQL) { samePush in
      try connection.withStatement(notificationSQL.insert) { insertNotification in
        try connection.withStatement(silentPushSQL.insert) { insertSilentPush in
          try pushes.map { push in
            var intake = Intake()
            if var notification = push.notification {
              // Computed once, for the search and for the row.
              notification.deliveredDigest = notification.withContentDigest { [UInt8]($0) }
              if let id = try idOfSamePush(notification, samePush) {
                intake.notificationId = id
                intake.isMerged = true
              } else {
                intake.notificationId = try Repository.insert(notification, deviceId, insertNotification, connection)
              }
            }
            if let silentPush = push.silentPush {
              intake.silentPushId = try Repository.insert(silentPush, deviceId, insertSilentPush, connection)
            }
            return intake
          }
        }
      }
    }
  }

  /// The terms that compare with '' and with null are those of the partial index ios_notification_push, and so is the
  /// day: a time within a day of `?3` has one of these three, however the division rounds.
  static let samePushSQL = """
    SELECT id FROM ios_notification
    WHERE timestamp / 86400000 IN (?4 / 86400000, ?3 / 86400000, ?5 / 86400000) AND contentDigest = ?2
      AND notificationId = ?1 AND notificationId <> '' AND contentDigest IS NOT NULL
      AND timestamp BETWEEN ?4 AND ?5 AND source IN (?6, ?7) ORDER BY id LIMIT 1
    """

  /// The row of an earlier delivery, by `statement`, which is that of ``samePushSQL``.
  private static func idOfSamePush(_ notification: NotificationData, _ statement: Statement) throws -> Int64? {
    guard !notification.notificationId.isEmpty else { return nil }
    let source = notification.source
    statement.bind(notification.notificationId, at: 1)
    notification.withContentDigest { statement.bind(blob: $0, at: 2) }
    // Any number may stand in a record's timestamp.
    statement.bind(notification.timestamp, at: 3)
    statement.bind(max(notification.timestamp, .min + oneDay) - oneDay, at: 4)
    statement.bind(min(notification.timestamp, .max - oneDay) + oneDay, at: 5)
    statement.bind((source.isDelivery ? .foreground : source).rawValue, at: 6)
    statement.bind((source.isDelivery ? .extension : source).rawValue, at: 7)
    defer { statement.reset() }
    return try statement.step() ? statement.int64(at: 0) : nil
  }
}
