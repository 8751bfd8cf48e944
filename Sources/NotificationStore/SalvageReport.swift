/// What ``StoreSalvage`` saved of a damaged store, and what was lost.
public struct SalvageReport: Sendable {
  public struct Table: Sendable {
    public let name: String
    /// How many rows are in the new store.
    public let saved: Int
    /// The ids of the rows that were lost, in order. Where ``isExact`` is false an index was damaged too: then every
    /// lost row is in these ranges, with ids that had no row any more, or never had one.
    public let missing: [ClosedRange<Int64>]
    public let isExact: Bool
    /// Whether the damaged store still said where the table is. If not, all of it is lost.
    public let isFound: Bool
    public var isWhole: Bool { isFound && missing.isEmpty }
  }

  /// The state of the write-ahead log beside the damaged store.
  public enum Log: Sendable, Equatable {
    /// There was none, or an empty one.
    case none
    case read
    /// Read up to the damage; so many commits stood behind it.
    case damaged(lostCommits: Int)
  }

  public enum DeviceID: String, Sendable {
    case saved
    /// Lost, and taken from the newest record that has one.
    case fromRecords
    /// Lost, and made anew.
    case new
  }

  /// The damaged store, and the new one, from the root on and without symbolic links.
  public let source: String
  public let path: String
  /// The tables of records, then the receipts.
  public let tables: [Table]
  /// The tables whose upload cursor was lost: their records count as not sent.
  public let lostCursors: [String]
  public let deviceId: DeviceID
  /// Whether every property of the store was saved.
  public let hasAllProperties: Bool
  public let log: Log

  /// Whether nothing was lost.
  public var isWhole: Bool {
    if case .damaged = log { return false }
    return tables.allSatisfy(\.isWhole) && lostCursors.isEmpty && deviceId == .saved && hasAllProperties
  }
}
