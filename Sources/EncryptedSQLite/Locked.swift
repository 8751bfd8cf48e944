import Foundation

/// A value that any thread may read and change.
///
/// - Note: `@unchecked Sendable`: `value` is touched under `lock` only. It may hold what is not `Sendable` (an app's
///   observer, its handlers), which is passed on and never called from here.
@dynamicMemberLookup
package final class Locked<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  package init(_ value: Value) { self.value = value }

  /// Calls `body` with the value to itself; `body` must not come back here.
  package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }

  /// The value as it is now.
  package var snapshot: Value { withLock { $0 } }

  /// Puts `new` in the value's place.
  package func replace(with new: Value) {
    var other = new
    withLock { swap(&$0, &other) }
  }

  package subscript<Member>(dynamicMember member: WritableKeyPath<Value, Member>) -> Member {
    get { withLock { $0[keyPath: member] } }
    set {
      // What is replaced is let go of after the lock: it may be an app's object, whose deinit comes back here.
      var other = newValue
      withLock { swap(&$0[keyPath: member], &other) }
    }
  }
}
