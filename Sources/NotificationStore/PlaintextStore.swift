import EncryptedSQLite
import Foundation

/// A store as the public AWARE notification sensor leaves it, plain SQLite, and its way into an encrypted one.
///
/// The plaintext file is read under an exclusive lock, copied row for row into a new encrypted store of the current
/// jsonVersion, compared with it, replaced by it, overwritten and removed. A kill or a power cut at any moment leaves
/// either the plaintext store or the complete encrypted one at the path;
/// ``adopt(at:into:key:deviceId:syncedThrough:ignoringForeignCursors:hasReadableHeader:busyTimeout:)`` called again brings
/// the rest to its end. Until then the plaintext may also be known as `<path>.adopting`.
public enum PlaintextStore {
  /// Whether the file at `path` is plain SQLite. False as well when there is none, or it cannot be read.
  public static func isPlaintext(at path: String) -> Bool {
    guard let path = try? FileSystem.absolute(path), let status = try? FileStatus(path),
      // To SQLite a file of a single byte is as empty as one of none.
      status.isRegularFile, status.size > 1
    else { return false }
    return Connection.isPlaintext(path)
  }

  /// Whether ``adopt(at:into:key:deviceId:syncedThrough:ignoringForeignCursors:hasReadableHeader:busyTimeout:)`` has
  /// anything to do at `path`: a plaintext store, or what an interrupted adoption left. Takes microseconds and changes
  /// nothing.
  public static func needsAdoption(at path: String) -> Bool {
    guard let path = try? FileSystem.absolute(path) else { return false }
    let leftovers = ["", "-wal", "-journal"].map { path + Adoption.suffix + $0 }
    return leftovers.contains { (try? FileStatus($0)) != nil } || isPlaintext(at: path)
  }

  /// Turns the plaintext store at `source` into an encrypted one, or finishes an adoption that was cut short.
  ///
  /// Every other program that uses the store must have closed it, and so must another SQLite library in this process,
  /// whose locks cannot be seen. Views and triggers of the file are not taken over.
  ///
  /// - Parameters:
  ///   - destination: where the encrypted store comes to stand: in place of the plaintext one when nil, otherwise at a
  ///     path where nothing is yet, and the plaintext one is removed all the same.
  ///   - deviceId: the store's own device id; when nil or empty, that of the newest record that has one.
  ///   - syncedThrough: for each table, the last id that was uploaded.
  ///   - ignoringForeignCursors: whether an id beyond the last one that the table has given out, which belongs to another
  ///     file, counts as 0 and is in the report; otherwise it is refused.
  ///   - hasReadableHeader: see ``NotificationStore/Configuration/hasReadableHeader``.
  ///   - busyTimeout: how long to wait for other users of the file, in seconds.
  /// - Returns: nil when there is nothing to adopt: no file, or one that is not plain SQLite.
  /// - Throws: `foreignCursor`; `foreignTables`, `unknownLayout` for a file that holds what would be lost; `corrupt`; `busy`;
  ///   `otherNames`, `readOnly`, `permissionDenied`, `diskFull`, `alreadyExists` for the destination; `invalidArgument`:
  ///   the plaintext store stays as it was. `adoptionIncomplete` and `wrongKey` when what an interrupted adoption left
  ///   is not known to be in the encrypted store, and is kept.
  public static func adopt(
    at source: String, into destination: String? = nil, key: EncryptionKey, deviceId: String? = nil,
    syncedThrough: [String: Int64] = [:], ignoringForeignCursors: Bool = false, hasReadableHeader: Bool = false,
    busyTimeout: Double? = nil
  ) throws -> AdoptionReport? {
    try adopt(
      at: source, into: destination, key: key, deviceId: deviceId, syncedThrough: syncedThrough,
      ignoringForeignCursors: ignoringForeignCursors, hasReadableHeader: hasReadableHeader, busyTimeout: busyTimeout,
      passing: { _ in })
  }

  /// - Parameter passing: called when a stage is done, for tests that end the process there.
  package static func adopt(
    at source: String, into destination: String? = nil, key: EncryptionKey, deviceId: String? = nil,
    syncedThrough: [String: Int64] = [:], ignoringForeignCursors: Bool = false, hasReadableHeader: Bool = false,
    busyTimeout: Double? = nil, passing: @escaping (AdoptionStage) -> Void
  ) throws -> AdoptionReport? {
    for (table, id) in syncedThrough where id < 0 || !NotificationStore.tables.contains(table) {
      throw DatabaseError(
        .invalidArgument,
        "uploaded through id \(id) of \(table): name one of \(NotificationStore.tables.joined(separator: ", ")), and an "
          + "id of 0 or more")
    }
    guard needsAdoption(at: source) else {
      PathLock.removeAbandoned(source)
      return nil
    }
    let source = try FileSystem.absolute(source)
    let adoption = Adoption(
      source: source, destination: try destination.map(FileSystem.absolute) ?? source, key: key, deviceId: deviceId,
      syncedThrough: syncedThrough, ignoresForeignCursors: ignoringForeignCursors, hasReadableHeader: hasReadableHeader,
      deadline: Date(timeIntervalSinceNow: min(max(0, busyTimeout ?? LockWait.policy.snapshot.timeout), 1_000_000)),
      passing: passing)
    return try adoption.run()
  }
}

extension DatabaseError.Code {
  /// The plaintext file holds tables that are not of the notification sensor.
  public static let foreignTables = Self(rawValue: "foreignTables")
  /// The plaintext file's tables are not of a layout that can be taken over without loss.
  public static let unknownLayout = Self(rawValue: "unknownLayout")
  /// An upload cursor is beyond the last id of its table: it belongs to another file.
  public static let foreignCursor = Self(rawValue: "foreignCursor")
  /// Records of the plaintext store are not in the encrypted one.
  public static let adoptionIncomplete = Self(rawValue: "adoptionIncomplete")
}
