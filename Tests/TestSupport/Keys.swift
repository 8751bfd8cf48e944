import EncryptedSQLite
import Foundation

/// Keys for tests.
public enum Keys {
  public static let rawText = "x'" + String(repeating: "0123456789abcdef", count: 4) + "'"
  public static let saltedText =
    "x'" + String(repeating: "fedcba9876543210", count: 4) + "00112233445566778899aabbccddeeff'"
  public static let passphraseText = "correct horse's \"battery\" staple"

  public static var raw: EncryptionKey { get throws { try EncryptionKey(rawText) } }
  public static var salted: EncryptionKey { get throws { try EncryptionKey(saltedText) } }
  public static var passphrase: EncryptionKey { get throws { try EncryptionKey(passphraseText) } }
  public static var wrong: EncryptionKey {
    get throws { try EncryptionKey("x'" + String(repeating: "7", count: 64) + "'") }
  }

  /// The error that `body` throws, nil when it throws none.
  public static func error(_ body: () throws -> Void) -> DatabaseError.Code? {
    do {
      try body()
      return nil
    } catch let error as DatabaseError {
      return error.code
    } catch {
      return DatabaseError.Code(rawValue: "\(error)")
    }
  }
}
