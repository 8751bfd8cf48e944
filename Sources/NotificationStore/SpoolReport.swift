import EncryptedSQLite

/// What was found in a store's spool when the store was opened.
public struct SpoolReport: Sendable {
  /// Pushes that are in the store now.
  public internal(set) var taken = 0
  /// Pushes that wait still, of whatever key.
  public internal(set) var waiting = 0
  /// Files that do not authenticate, of now and of earlier openings. They are kept in `<store>.spool/damaged`.
  public internal(set) var damaged = 0
  /// What could not be imported and was kept: one error for each reason.
  public internal(set) var faults: [DatabaseError]

  init(faults: [DatabaseError] = []) { self.faults = faults }

  /// Whether something waits still that the keys at hand may open: they are not to be dropped.
  package var isSomethingLeft: Bool { obstacle != nil }

  /// A file that none of the keys opens, or that was altered, is no obstacle: it stays, whatever becomes of them.
  private var obstacle: DatabaseError? {
    faults.first { $0.code != .spoolUnreadable && $0.code != .spoolAltered }
  }

  package func requireNothingLeft() throws {
    if let obstacle { throw obstacle }
  }
}

extension DatabaseError.Code {
  /// Nothing can wait next to this store.
  public static let spoolUnavailable = Self(rawValue: "spoolUnavailable")
  /// What waits next to the store is under another key, or of another version, and was kept.
  public static let spoolUnreadable = Self(rawValue: "spoolUnreadable")
  /// Files of the spool were altered, exchanged or are not its own, and were kept.
  public static let spoolAltered = Self(rawValue: "spoolAltered")
  /// So many records wait for the store that the newest was not kept.
  public static let tooManyWaiting = Self(rawValue: "tooManyWaiting")
  /// A record is larger than what may wait.
  public static let tooLarge = Self(rawValue: "tooLarge")
}

extension DatabaseError {
  init(spool error: any Error) {
    self = error as? DatabaseError ?? DatabaseError(.database, "what waits in the spool was not imported: \(error)")
  }
}
