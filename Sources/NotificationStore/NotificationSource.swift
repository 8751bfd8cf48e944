/// How a notification came to be recorded.
public enum NotificationSource: String, Sendable, CaseIterable {
  /// It was delivered while the app was in the foreground.
  case foreground
  /// The person acted on it.
  case response
  /// The Notification Service Extension saw it.
  case `extension`
  /// It comes from a store of version 1, or another one.
  case `import`

  /// Delivery is one event, whoever sees it first; a response is another.
  var isDelivery: Bool { self == .foreground || self == .extension }
}
