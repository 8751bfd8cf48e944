import Foundation

extension Database {
  /// Brings a file that an older SQLCipher wrote to the format of this library, under the same key: by a verified copy that
  /// takes its place. Nobody else may have the file open.
  ///
  /// - Parameter settings: what else the file is written with than the defaults of its generation.
  /// - Returns: what was done; nil when the file has the library's format already.
  /// - Throws: `busy`, `diskFull`, `corrupt`, `otherNames`, `copyFailed`, `cancelled`, and what opening throws: the file is
  ///   as it was.
  public static func upgradeCipher(
    of path: String, key: EncryptionKey, settings: Cipher.Settings = .init(), busyTimeout: Double? = nil,
    isInterrupted: @escaping () -> Bool = { false }
  ) throws -> CipherUpgradeReport? {
    try settings.check()
    // Done before: the file has the defaults of today, and not those settings.
    if settings != .init(), let current = try? Connection.open(path, key: key, options: .init(access: .readOnly)) {
      try current.close()
      if !current.cipher.isOlderThanLibrary { return nil }
    }
    let path = try FileSystem.absolute(path)
    try Connection.checkFile(path, for: .readWrite)
    let lock = try PathLock(path, timeout: busyTimeout)
    defer { lock.release() }
    let options = Connection.Options(busyTimeout: busyTimeout, cipherSettings: settings)
    let connection = try Connection.open(path, key: key, options: options)
    let from = connection.cipher.generation
    guard connection.cipher.isOlderThanLibrary || settings != .init() else {
      try connection.close()
      // What an earlier run left that was killed.
      NewFile.removeAbandoned(beside: connection.path)
      return nil
    }
    let replacement = FileReplacement(
      what: "the upgrade of \(connection.path)", key: key, busyTimeout: busyTimeout, isInterrupted: isInterrupted)
    do {
      // Pages of a newer format are larger, and the copy has no free ones.
      try FileSystem.requireSpace(
        2 * connection.byteCount, beside: connection.path, for: "an upgrade of \(connection.path)")
      try connection.requireSound()
    } catch {
      try? connection.close()
      throw error
    }
    let outcome = try replacement.run(connection) {
      try TableCounts($0)
    } build: { connection, aside in
      let format = FileFormat(hasReadableHeader: connection.cipher.hasReadableHeader)
      try connection.export(to: aside, key: key, format: format, isInterrupted: isInterrupted)
    }
    try FileSystem.syncInPlace(connection.path)
    return CipherUpgradeReport(
      path: connection.path, from: from, generation: outcome.copy.generation, pages: outcome.copy.pages,
      counts: outcome.copy.counts.counts)
  }
}

/// What an upgrade of a file's format did.
public struct CipherUpgradeReport: Sendable, Equatable {
  public let path: String
  /// The SQLCipher generation of the format that it had.
  public let from: Int
  /// The SQLCipher generation of the format that it has.
  public let generation: Int
  public let pages: Int
  /// The rows of each table.
  public let counts: [String: Int64]
}
