import Foundation

/// What went wrong, as a code to act on and a sentence to show.
///
/// Equality is on the code alone. `message` says what happened and what to do; it never holds a key or a bound value.
public struct DatabaseError: Error, Sendable {
  /// The kind of failure: one code for each thing a caller would do differently.
  ///
  /// Open-ended: higher layers add their own, and a new code breaks no caller.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  public let code: Code
  /// `what happened: what to do`, for a person.
  public let message: String
  /// SQLite's extended result code, where SQLite reported the failure.
  public let sqliteCode: Int32?

  public init(_ code: Code, _ message: String, sqliteCode: Int32? = nil) {
    self.code = code
    self.message = message
    self.sqliteCode = sqliteCode
  }
}

extension DatabaseError: Equatable {
  public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension DatabaseError: CustomStringConvertible {
  public var description: String {
    sqliteCode.map { "\(message) [\(code.rawValue), SQLite \($0)]" } ?? "\(message) [\(code.rawValue)]"
  }
}

extension DatabaseError: LocalizedError {
  /// What `localizedDescription` gives: the message.
  public var errorDescription: String? { message }
}

extension DatabaseError.Code: CustomStringConvertible {
  /// The code's name.
  public var description: String { rawValue }
}

extension DatabaseError.Code {
  // Keys.

  /// The key is empty. Nothing was opened or written.
  public static let emptyKey = Self(rawValue: "emptyKey")
  /// The key looks like SQLCipher's raw-key literal `x'…'` and is not exactly one.
  public static let invalidRawKey = Self(rawValue: "invalidRawKey")
  /// There is no key at the place named.
  public static let keyNotFound = Self(rawValue: "keyNotFound")
  /// A key may be there, and cannot be read now.
  public static let keyUnavailable = Self(rawValue: "keyUnavailable")
  /// The key file can be read by other users, or belongs to one.
  public static let keyExposed = Self(rawValue: "keyExposed")

  // Opening. None of these changes the file.

  /// The library that was linked does not encrypt.
  public static let cipherUnavailable = Self(rawValue: "cipherUnavailable")
  /// There is no such file or folder.
  public static let notFound = Self(rawValue: "notFound")
  /// A file of that name exists and was to be new.
  public static let alreadyExists = Self(rawValue: "alreadyExists")
  /// The path names a folder, a device or the like.
  public static let notAFile = Self(rawValue: "notAFile")
  /// The file has no bytes, or a single one: not a store, whatever the key.
  public static let emptyFile = Self(rawValue: "emptyFile")
  /// The file does not decrypt under the key given.
  public static let wrongKey = Self(rawValue: "wrongKey")
  /// The file is plain SQLite.
  public static let notEncrypted = Self(rawValue: "notEncrypted")
  /// This user may not read the file.
  public static let permissionDenied = Self(rawValue: "permissionDenied")
  /// This user may not write the file or its folder.
  public static let readOnly = Self(rawValue: "readOnly")
  /// A write was cut short, and only a connection that writes can undo it: open the file for writing once.
  public static let recoveryNeeded = Self(rawValue: "recoveryNeeded")
  /// Another connection is in the way; the busy timeout ran out.
  public static let busy = Self(rawValue: "busy")

  // Working.

  /// Damage was met under a key that had opened the file.
  public static let corrupt = Self(rawValue: "corrupt")
  /// The file was rotated to another key under an open connection, and the connection's key no longer fits.
  public static let keyChanged = Self(rawValue: "keyChanged")
  /// Another file stands at the path of an open connection, or none.
  public static let fileReplaced = Self(rawValue: "fileReplaced")
  public static let diskFull = Self(rawValue: "diskFull")
  /// The operating system failed to read or write.
  public static let inputOutput = Self(rawValue: "inputOutput")
  /// A rule of the schema (unique, not null, check) refused the row.
  public static let constraint = Self(rawValue: "constraint")
  /// The task was cancelled; its transaction was rolled back.
  public static let cancelled = Self(rawValue: "cancelled")
  /// The store was closed by its owner.
  public static let closed = Self(rawValue: "closed")
  /// A value or setting is outside what is allowed.
  public static let invalidArgument = Self(rawValue: "invalidArgument")
  /// Any other failure that SQLite reports.
  public static let database = Self(rawValue: "database")
}
