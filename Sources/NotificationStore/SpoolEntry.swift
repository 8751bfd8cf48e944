import Foundation

/// One record of a push that waits in the spool, with its identity fixed, or a receipt.
package enum SpoolEntry: Sendable, Equatable {
  case notification(NotificationData)
  case silentPush(SilentPushData)
  case token(NotificationTokenData)
  case receipt(DeliveryReceipt)

  private static let receiptTable = "delivery_receipt"

  /// The entries of one push.
  package static func entries(of push: PushRecords) -> [SpoolEntry] {
    var entries: [SpoolEntry] = []
    if let notification = push.notification { entries.append(.notification(notification)) }
    if let silentPush = push.silentPush { entries.append(.silentPush(silentPush)) }
    return entries
  }

  /// The same with a `recordId`, where it had none.
  package var identified: SpoolEntry {
    switch self {
    case .notification(let data): return .notification(data.identified)
    case .silentPush(let data): return .silentPush(data.identified)
    case .token(let data): return .token(data.identified)
    case .receipt: return self
    }
  }

  var recordId: String {
    switch self {
    case .notification(let data): data.recordId
    case .silentPush(let data): data.recordId
    case .token(let data): data.recordId
    case .receipt(let receipt): receipt.recordId
    }
  }

  /// When it arrived, in Unix milliseconds.
  var timestamp: Int64 {
    switch self {
    case .notification(let data): data.timestamp
    case .silentPush(let data): data.timestamp
    case .token(let data): data.timestamp
    case .receipt(let receipt): receipt.receivedAt
    }
  }

  /// For JSON: `table`, and `record` as `toDictionary()` gives it; of a notification also `contentDigest`.
  var object: [String: Any] {
    let (table, record): (String, [String: Any]) =
      switch self {
      case .notification(let data):
        (
          NotificationData.databaseTableName,
          data.toDictionary().merging(["contentDigest": data.contentDigest]) { $1 }
        )
      case .silentPush(let data): (SilentPushData.databaseTableName, data.toDictionary())
      case .token(let data): (NotificationTokenData.databaseTableName, data.toDictionary())
      case .receipt(let receipt):
        (
          Self.receiptTable,
          [
            "recordId": receipt.recordId, "notificationId": receipt.notificationId, "receivedAt": receipt.receivedAt,
          ]
        )
      }
    return ["table": table, "record": record]
  }

  /// nil for what this version does not know.
  init?(_ object: [String: Any]) {
    guard let record = object["record"] as? [String: Any] else { return nil }
    switch object["table"] as? String {
    case NotificationData.databaseTableName:
      var data = NotificationData(record)
      data.deliveredDigest = (record["contentDigest"] as? String).flatMap { NotificationData.digest($0) }
      self = .notification(data)
    case SilentPushData.databaseTableName: self = .silentPush(SilentPushData(record))
    case NotificationTokenData.databaseTableName: self = .token(NotificationTokenData(record))
    case Self.receiptTable:
      guard let id = record["recordId"] as? String, let time = (record["receivedAt"] as? NSNumber)?.int64Value else {
        return nil
      }
      self = .receipt(
        DeliveryReceipt(recordId: id, notificationId: record["notificationId"] as? String ?? "", receivedAt: time))
    default: return nil
    }
  }
}
