/// How the system tells the sensor of notifications.
protocol PushIntegration: AnyObject {
  /// From now on `receive` is called with each notification. A second call changes nothing.
  func install(_ receive: @escaping @Sendable (ReceivedNotification) -> Void)
  /// Restores what was there before.
  func remove()
  /// Asks the person for permission to notify.
  func requestPermission(_ report: @escaping @Sendable (String?) -> Void)
}
