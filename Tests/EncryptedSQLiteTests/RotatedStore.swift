import CSQLCipher
import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// A file that goes from one key to another, its content known.
final class RotatedStore {
  static let name = "store.db"
  let old: EncryptionKey
  let new: EncryptionKey
  let rows: [String]
  let hasReadableHeader: Bool
  /// Holds the file as it was before, at rest.
  private let original = TemporaryFolder()
  private let keys = TemporaryFolder()

  enum Force: String {
    case old = "old key"
    case new = "new key"
  }

  static func text(_ outcomes: [Force: Int]) -> String {
    [Force.old, .new].map { "\($0.rawValue) \(outcomes[$0, default: 0])" }.joined(separator: ", ")
  }

  /// - Parameter isLarge: whether it is more than SQLite's cache holds, so that pages are written before the commit.
  init(
    from old: String, to new: String, hasLog: Bool = true, isLarge: Bool = false, hasReadableHeader: Bool = false
  ) throws {
    self.hasReadableHeader = hasReadableHeader
    (self.old, self.new) = (try EncryptionKey(old), try EncryptionKey(new))
    _ = keys.write("old", old)
    _ = keys.write("new", new)
    let path = original.path(Self.name)
    try SmallStore.make(path, self.old, hasReadableHeader: hasReadableHeader)
    let raw =
      hasReadableHeader ? RawSQLite.withReadableHeader(path, key: self.old) : RawSQLite(path, key: self.old)
    for _ in 0..<(isLarge ? 25 : 1) { #expect(raw.execute(SmallStore.noise) == SQLITE_OK) }
    // Free pages, as a deletion leaves them.
    #expect(raw.execute("DELETE FROM item WHERE id % 400 BETWEEN 300 AND 340") == SQLITE_OK)
    if !hasLog { #expect(raw.execute("PRAGMA journal_mode = DELETE") == SQLITE_OK) }
    rows = try SmallStore.texts(path, self.old)
  }

  /// Puts the file as it was before into `folder`, alone.
  func restore(in folder: TemporaryFolder) throws { try folder.copyContents(of: original) }

  /// The arguments with which `store-helper` rotates the file in `folder`.
  func arguments(_ command: String = "rotate", in folder: TemporaryFolder, isRewriting: Bool) -> [String] {
    [command, folder.path(Self.name), keys.path("old"), keys.path("new")] + (isRewriting ? ["--rewrite"] : [])
  }

  /// Which of the two keys opens the file in `folder`: it must be sound and hold every row.
  ///
  /// - Parameters:
  ///   - more: rows that came after.
  ///   - row: inserted then.
  ///   - place: named when it is not so.
  func force(
    in folder: TemporaryFolder, having more: [String] = [], tryingNewFirst: Bool = false, inserting row: String? = nil,
    _ place: Comment = ""
  ) throws -> Force {
    var fitting: [Force] = []
    for force in tryingNewFirst ? [Force.new, .old] : [.old, .new] {
      do {
        let connection = try Connection.open(folder.path(Self.name), key: force == .old ? old : new)
        fitting.append(force)
        try #require(connection.cipher.hasReadableHeader == hasReadableHeader, place)
        try #require(try SmallStore.texts(connection) == rows + more, place)
        if let row {
          try connection.run("INSERT INTO item (text) VALUES (?)", .text(row))
          try #require(try SmallStore.texts(connection) == rows + more + [row], place)
        }
        try #require(try connection.integrityFaults() == [], place)
        try connection.close()
      } catch let error as DatabaseError where error.code == .wrongKey {}
    }
    try #require(fitting.count == 1, "\(fitting.isEmpty ? "neither key opens it" : "both keys open it"): \(place)")
    return fitting[0]
  }

  /// The rotation is complete: nothing but the file is left in `folder`, only the new key opens it, and it takes a row.
  func requireRotated(in folder: TemporaryFolder, having more: [String] = [], _ place: Comment = "") throws {
    try #require(try force(in: folder, having: more, inserting: "one more", place) == .new, place)
    try #require(folder.names == [Self.name], place)
  }
}
