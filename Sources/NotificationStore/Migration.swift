import EncryptedSQLite

/// One step of the schema: the SQL that takes a store from `version - 1` to `version`.
public struct Migration: Sendable {
  /// The jsonVersion that the step leads to, and the file's `PRAGMA user_version` after it.
  public let version: Int
  public let name: String
  public let sql: String

  public init(version: Int, name: String, sql: String) {
    self.version = version
    self.name = name
    self.sql = sql
  }

  /// SHA-256 of the SQL's UTF-8 bytes, in hexadecimal: what `sha256sum` prints for the file in Migrations.
  public var sha256: String { Hexadecimal.text(PlatformCrypto.sha256(sql.utf8)) }
}

extension DatabaseError.Code {
  /// The store has a newer jsonVersion than this program knows.
  public static let schemaTooNew = Self(rawValue: "schemaTooNew")
  /// The store has an older jsonVersion, and was opened for reading only.
  public static let migrationNeeded = Self(rawValue: "migrationNeeded")
  /// A step that was applied to the store is not the step of that version here.
  public static let migrationChanged = Self(rawValue: "migrationChanged")
  /// The store holds something else under the name of one of its tables.
  public static let schemaChanged = Self(rawValue: "schemaChanged")
  /// A step failed; the store is as it was before it.
  public static let migrationFailed = Self(rawValue: "migrationFailed")
}
