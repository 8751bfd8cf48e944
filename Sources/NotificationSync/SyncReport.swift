import Foundation

/// What one sync did.
public struct SyncReport: Sendable {
  public struct Table: Sendable {
    public let name: String
    /// Rows that the server took, those included that it had already.
    public internal(set) var sent = 0
    /// Those of them that it had already, as far as it says so.
    public internal(set) var duplicates = 0
    /// Rows that were deleted here, as the server has them.
    public internal(set) var removed = 0
    /// Rows that were set aside in this sync: they stay, and are not sent until ``Synchronizer/requeue()``.
    public internal(set) var setAside = 0
    /// Rows that still wait.
    public internal(set) var pending = 0
    public internal(set) var batches = 0
    /// Why not all was sent.
    public internal(set) var error: SyncError?
    /// When the next attempt is due, where an earlier failure asks to wait.
    public internal(set) var waitsUntil: Date?

    init(name: String) { self.name = name }
  }

  public internal(set) var tables: [Table] = []

  /// What the upload ledger said that cannot be, as another program with the key may have written it, and that was
  /// discarded, a sentence each. Without content.
  public internal(set) var discarded: [String] = []

  /// Delivery receipts that were sent.
  public internal(set) var receipts = 0
  /// Why receipts still wait.
  public internal(set) var receiptError: SyncError?

  public var sent: Int { tables.reduce(0) { $0 + $1.sent } }
  public var pending: Int { tables.reduce(0) { $0 + $1.pending } }
  /// The first failure; nil when nothing failed.
  public var error: SyncError? { tables.lazy.compactMap(\.error).first ?? receiptError }
  /// Whether everything that was there is with the server now, but for what was set aside.
  public var isComplete: Bool { error == nil && tables.allSatisfy { $0.waitsUntil == nil } }
}
