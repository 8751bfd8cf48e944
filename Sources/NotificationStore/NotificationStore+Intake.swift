import EncryptedSQLite

extension NotificationStore {
  /// What became of one push.
  public struct Intake: Sendable, Equatable {
    /// The row of the visible notification: a new one, or the one that the push had already.
    public var notificationId: Int64?
    /// Whether the notification was merged with the row of an earlier delivery.
    public var isMerged = false
    /// The row of the silent push: a new one, or the one that it had already.
    public var silentPushId: Int64?
    /// Whether the silent push had a row already: one with its `pushId` and its `recordId`.
    public var isRepeated = false

    public init(
      notificationId: Int64? = nil, isMerged: Bool = false, silentPushId: Int64? = nil, isRepeated: Bool = false
    ) {
      self.notificationId = notificationId
      self.isMerged = isMerged
      self.silentPushId = silentPushId
      self.isRepeated = isRepeated
    }
  }

  /// Stores a push; a visible push is one row.
  ///
  /// Two deliveries of a visible push are the same when request identifier and content as delivered are equal, they are within
  /// a day of each other, and both are deliveries or both are responses: then the first row stays as it is. A push
  /// without an identifier is never merged.
  ///
  /// Silent pushes have no identifier on iOS, and a command may be sent twice with reason: each is a row. Only one that
  /// has a `pushId`, and whose `recordId` is in the store, adds nothing.
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

  /// As ``record(_:)``.
  ///
  /// - Returns: the pushes as the store has them: of one that was there already, its row.
  package func recordedRows(of pushes: [PushRecords]) throws -> [PushRecords] {
    let deviceId = deviceId
    let pushes = pushes.map { push in
      PushRecords(
        notification: push.notification?.completed(deviceId: deviceId),
        silentPush: push.silentPush?.completed(deviceId: deviceId))
    }
    return try database.write { connection in
      try zip(pushes, try Self.record(pushes, deviceId, connection)).map { push, intake in
        var push = push
        push.notification?.id = intake.notificationId
        push.notification?.deliveredDigest = nil
        push.silentPush?.id = intake.silentPushId
        if intake.isMerged { try Self.readRow(&push.notification, Self.notificationSQL, connection) }
        if intake.isRepeated { try Self.readRow(&push.silentPush, Self.silentPushSQL, connection) }
        return push
      }
    }
  }

  /// Replaces `record` by the row of its id.
  private static func readRow<Record: StoredRecord>(
    _ record: inout Record?, _ sql: TableSQL, _ connection: Connection
  ) throws {
    guard let id = record?.id else { return }
    var rows: [Record] = []
    try Repository.read(&rows, after: id &- 1, 1, sql, connection)
    if let row = rows.first { record = row }
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
              if let id = try idOfRepeated(silentPush, connection) {
                intake.silentPushId = id
                intake.isRepeated = true
              } else {
                intake.silentPushId = try Repository.insert(silentPush, deviceId, insertSilentPush, connection)
              }
            }
            return intake
          }
        }
      }
    }
  }

  private static func idOfRepeated(_ push: SilentPushData, _ connection: Connection) throws -> Int64? {
    guard !push.pushId.isEmpty else { return nil }
    return try connection.integer("SELECT id FROM ios_silent_push WHERE recordId = ?", .text(push.recordId))
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
