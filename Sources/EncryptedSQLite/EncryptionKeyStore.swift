/// Keeps the key of a store, so that at every moment of a rotation it holds one that opens the file.
///
/// A rotation stages the new key, changes the file, and then promotes the staged key to the current one. When it is cut
/// short, both are there, and who opens the store next finds out which is in force.
public protocol EncryptionKeyStore: Sendable {
  /// - Throws: `keyNotFound` when there is no key; `keyUnavailable` when there may be one that cannot be read now, as on a
  ///   phone that was not unlocked since it started; `keyExposed`.
  func load() throws -> StoredKeys

  /// Makes a new raw key and keeps it, durable on return.
  ///
  /// - Throws: `alreadyExists`, and the errors of writing.
  func create() throws -> EncryptionKey

  /// Keeps `new` beside the current key, durable on return. The same key may be staged twice.
  ///
  /// - Throws: `alreadyExists` when another key is staged, and the errors of writing.
  func stage(_ new: EncryptionKey) throws

  /// Makes the staged key the current one, and forgets the one before. Nothing happens when none is staged.
  func promote() throws

  /// Forgets the staged key. Nothing happens when none is staged.
  func discard() throws
}

extension EncryptionKeyStore {
  /// Makes `new` the current key, under which the store is now, whatever another process has done to the staged one.
  package func confirm(_ new: EncryptionKey) throws {
    try promote()
    guard try load().current != new else { return }
    try stage(new)
    try promote()
  }
}

/// What a key store holds.
public struct StoredKeys: Sendable, Equatable {
  public let current: EncryptionKey
  /// The new key of a rotation that has not come to its end.
  public let staged: EncryptionKey?

  public init(current: EncryptionKey, staged: EncryptionKey? = nil) {
    self.current = current
    self.staged = staged
  }
}

extension DatabaseError.Code {
  /// The key store holds no key, and the store is there: as on a phone restored from a backup.
  public static let keyLost = Self(rawValue: "keyLost")
  /// The file still opens under the previous key: a rotation was cut short and waits for its end.
  public static let rotationPending = Self(rawValue: "rotationPending")
}
