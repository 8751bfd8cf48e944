import EncryptedSQLite
import Foundation

/// Puts one sensor's delegate in front of the one that a center has, and takes it away again.
///
/// - Note: `@unchecked Sendable`: `current` is guarded by `lock`.
final class DelegatePlace: @unchecked Sendable {
  /// One for all sensors: two that start at once would each keep the other's predecessor.
  private static let lock = NSLock()
  /// Delegates that another one was put in front of, which may still call them, and need not keep them. They only pass on.
  private static let retired = Locked<[any LinkedDelegate]>([])

  private var current: (delegate: any LinkedDelegate, center: any DelegateHolder)?

  /// - Parameter make: makes the delegate for a link. It is not called when one is installed already.
  func install(
    in center: any DelegateHolder, _ receive: @escaping @Sendable (ReceivedNotification) -> Void,
    _ make: (DelegateLink) -> any LinkedDelegate
  ) {
    Self.lock.lock()
    defer { Self.lock.unlock() }
    guard current == nil else { return }
    let delegate = make(DelegateLink(before: center.heldDelegate, receive))
    current = (delegate, center)
    center.heldDelegate = delegate
  }

  /// Restores what was there before, unless somebody has put another delegate in front meanwhile.
  func remove() {
    Self.lock.lock()
    defer { Self.lock.unlock() }
    guard let (delegate, center) = current else { return }
    current = nil
    delegate.link.stop()
    if center.heldDelegate === delegate {
      center.heldDelegate = delegate.link.next
    } else {
      Self.retired.withLock { $0.append(delegate) }
    }
  }

  deinit { remove() }
}

/// What tells one delegate, and does not keep it.
protocol DelegateHolder: AnyObject {
  var heldDelegate: AnyObject? { get set }
}
