import EncryptedSQLite

/// What went wrong: a code to act on, and a sentence that says what happened and what to do.
public typealias AwareNotificationError = DatabaseError

extension DatabaseError.Code {
  /// The sensor's settings contradict each other, or lack one. Nothing is stored until they are mended.
  public static let invalidConfiguration = Self(rawValue: "invalidConfiguration")
  /// The store's upload ledger said what cannot be: another program with the key wrote to it.
  public static let ledgerChanged = Self(rawValue: "ledgerChanged")
  /// No host is configured to send records to.
  public static let noHost = Self(rawValue: "noHost")
}
