import EncryptedSQLite

/// What ``PlaintextStore`` did.
public struct AdoptionReport: Sendable {
  /// The encrypted store, from the root on and without symbolic links.
  public let path: String
  /// How many records the store holds, by table.
  public let counts: [String: Int]
  /// The store's own device id.
  public let deviceId: String
  /// Whether the store had been made by an earlier adoption, and only the plaintext was left to be removed.
  public let isOnlyFinished: Bool
  /// Upload cursors that belong to another file and count as 0, each with what is wrong with it.
  public internal(set) var ignoredCursors: [DatabaseError] = []
}
