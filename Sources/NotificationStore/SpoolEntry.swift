import Foundation

/// What the spool keeps for the store: a record with its identity fixed, or a receipt.
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

  /// JSON: `table`, and `record` as `toDictionary()` gives it; of a notification also `contentDigest`.
  func encoded() throws -> Data {
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
    return try JSONSerialization.data(withJSONObject: ["table": table, "record": record])
  }

  /// nil for what this version does not know.
  init?(_ json: Data) {
    guard let object = try? JSONSerialization.jsonObject(with: json) as? [String: Any],
      let record = object["record"] as? [String: Any]
    else {
      return nil
    }
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
