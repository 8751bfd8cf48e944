#if !canImport(UserNotifications)
  /// Where the system delivers no notifications: they come through ``NotificationSensor/handle(_:)``.
  final class SystemPushIntegration: PushIntegration {
    func install(_ receive: @escaping @Sendable (ReceivedNotification) -> Void) {}
    func remove() {}
    func requestPermission(_ report: @escaping @Sendable (String?) -> Void) {}
  }
#endif
