/// What a backup holds.
public struct BackupReport: Sendable, Equatable {
  /// The backup's path, from the root on.
  public let path: String
  public let pages: Int
  /// The SQLCipher generation of its format.
  public let generation: Int
  /// The rows of each table.
  public let counts: [String: Int64]
}
