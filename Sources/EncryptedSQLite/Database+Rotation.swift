import Foundation

extension Database {
  /// Gives the file another key. This database's own connections go on under it; those of other processes open the file
  /// anew at their next call, or get `keyChanged`. The file may be under the key already, as when a rotation is asked for
  /// again: that is confirmed.
  ///
  /// In place, the salt stays. A key with a salt of its own (96 digits), or `rewriting`, goes through a verified copy,
  /// for which nobody else may have the file open. Both want free space of about the file's size.
  ///
  /// - Throws: `rotationUnconfirmed`: keep both keys, and call it again. Every other error means that the old key is in
  ///   force and that nothing was changed: `busy`, `diskFull`, `corrupt`,
  ///   `rotationFailed`, those of opening, `invalidRawKey` for a new key that ``EncryptionKey/resemblesRawKey``, and
  ///   `readableHeaderUnavailable` for a key without salt to a file that has one.
  public func rotateEncryptionKey(to new: EncryptionKey, rewriting: Bool = false) throws -> RotationReport {
    let rotation = { [path, options] (old: EncryptionKey) in
      KeyRotation(
        path: path, old: old, new: new, options: .init(isRewriting: rewriting, busyTimeout: options.busyTimeout))
    }
    // The same key with another salt is no other key, and goes on to be refused.
    if keyInForce == new {
      return try withWriter { connection in
        try KeyRotation.makeDurable(connection)
        return try rotation(new).reportDone()
      }
    }
    try new.requireChosen()
    let isCopied = rewriting || new.kind == .rawKeyWithSalt
    return try rotating(to: new, reading: !isCopied) { try rotation($0).run() }
  }

  /// That a file of this kind can have the key `new`, asked before that is put anywhere; true where it cannot be opened now.
  ///
  /// - Throws: `invalidRawKey`, `readableHeaderUnavailable`.
  package func requireFitting(_ new: EncryptionKey) throws {
    try new.requireChosen()
    guard let cipher else { return }
    try cipher.format.require(new, libraryVersion: cipher.libraryVersion)
  }

  /// Gives the file at `path` another key, or confirms that an earlier call has.
  ///
  /// - Parameters:
  ///   - busyTimeout: how long to wait for other users of the file, in seconds.
  ///   - isInterrupted: asked until the change begins; true ends the rotation with `cancelled`, the old key in force.
  /// - Throws: as ``rotateEncryptionKey(to:rewriting:)``; `invalidArgument` when both keys are the same.
  public static func rotateEncryptionKey(
    of path: String, from old: EncryptionKey, to new: EncryptionKey, rewriting: Bool = false,
    busyTimeout: Double? = nil,
    isInterrupted: @escaping () -> Bool = { false }
  ) throws -> RotationReport {
    try new.requireChosen()
    return try KeyRotation(
      path: try FileSystem.absolute(path), old: old, new: new,
      options: .init(isRewriting: rewriting, busyTimeout: busyTimeout, isInterrupted: isInterrupted)
    ).run()
  }
}

extension DatabaseError.Code {
  /// The key was not changed; the old one is in force.
  public static let rotationFailed = Self(rawValue: "rotationFailed")
  /// It is not known which of two keys is in force: keep both, and run the rotation again.
  public static let rotationUnconfirmed = Self(rawValue: "rotationUnconfirmed")
}
