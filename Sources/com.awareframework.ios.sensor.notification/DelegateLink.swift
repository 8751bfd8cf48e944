import EncryptedSQLite

/// One sensor's place in the line of the notification center's delegates: it sees what comes, and passes it on to the
/// delegate that was there before.
///
/// - Note: `@unchecked Sendable`: `receive` is guarded; `app` is weak, which is safe to read on any thread.
final class DelegateLink: @unchecked Sendable {
  private weak var app: AnyObject?
  /// Another sensor's delegate is kept: it leads to the app's, also when that sensor is gone.
  private let other: (any LinkedDelegate)?
  private let receive: Locked<(@Sendable (ReceivedNotification) -> Void)?>

  init(before delegate: AnyObject?, _ receive: @escaping @Sendable (ReceivedNotification) -> Void) {
    app = delegate
    other = delegate as? any LinkedDelegate
    self.receive = Locked(receive)
  }

  /// The delegate to pass on to. Sensors that have stopped are left out: nobody else may be keeping them.
  var next: AnyObject? {
    guard let other else { return app }
    return other.link.isStopped ? other.link.next : other
  }

  private var isStopped: Bool { receive.withLock { $0 == nil } }

  /// From now on it passes on, and nothing else.
  func stop() { receive.replace(with: nil) }

  /// Hands `notification` to the sensor, and then the call to the next delegate.
  ///
  /// - Parameters:
  ///   - passOn: makes the same call to the next delegate; gives nil when that one does not implement it.
  ///   - otherwise: is called when nobody took the call.
  func take(_ notification: ReceivedNotification, passOn: (AnyObject) -> Void?, otherwise: () -> Void) {
    receive.snapshot?(notification)
    if next.flatMap(passOn) == nil { otherwise() }
  }
}

/// A delegate of the notification center that stands for a sensor.
protocol LinkedDelegate: AnyObject {
  var link: DelegateLink { get }
}
