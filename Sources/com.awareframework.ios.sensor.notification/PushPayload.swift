import NotificationStore

/// A push by its payload, as it came from APNs, and what is known beside it.
package struct PushPayload {
  package let payload: [AnyHashable: Any]
  /// The payload as JSON text.
  package let text: String
  /// The request's identifier; "" when there is none.
  package let identifier: String
  /// The bundle identifier of the app that received it.
  package let bundle: String
  /// Unix time in milliseconds.
  package let receivedAt: Int64

  package init(payload: [AnyHashable: Any], text: String, identifier: String, bundle: String, receivedAt: Int64) {
    self.payload = payload
    self.text = text
    self.identifier = identifier
    self.bundle = bundle
    self.receivedAt = receivedAt
  }

  func records(label: String) -> PushRecords {
    PushRecords(
      payload: payload, text: text, identifier: identifier, bundle: bundle, receivedAt: receivedAt,
      source: .foreground, label: label)
  }
}
