/// What a rotation of an encryption key did.
public struct RotationReport: Sendable, Equatable {
  public enum Method: String, Sendable {
    /// Every page was encrypted anew where it stands; the salt stayed.
    case inPlace
    /// A verified copy, compacted and under a new salt, took the file's place.
    case rewrite
  }

  public let path: String
  public let method: Method
  /// Whether an earlier run had done it, and this one only confirmed it.
  public let wasDone: Bool
  public let oldKey: EncryptionKey.Kind
  public let newKey: EncryptionKey.Kind
  /// The pages of the file after the rotation.
  public let pages: Int
  /// The SQLCipher generation of the file's format.
  public let generation: Int
  /// Whether the main file is wholly under the new key. Otherwise a reader elsewhere keeps the write-ahead log, and a
  /// copy of the main file alone still opens under the old key until a later checkpoint.
  public let isLogFoldedIn: Bool
  /// The time that reading and comparing took, before and after.
  public let provingSeconds: Double
  /// The time that encrypting took, with making it durable.
  public let rotatingSeconds: Double
}
