/// That a push was delivered: what the server is told the second it arrives, without any content.
package struct DeliveryReceipt: Sendable, Equatable {
  /// The record's identity.
  package var recordId: String
  /// The identifier of the push's request.
  package var notificationId: String
  /// Unix time in milliseconds.
  package var receivedAt: Int64

  package init(recordId: String, notificationId: String, receivedAt: Int64) {
    self.recordId = recordId
    self.notificationId = notificationId
    self.receivedAt = receivedAt
  }
}
