/// Which SQLCipher reads a file, and which generation's format the file has.
public struct Cipher: Sendable, Equatable {
  /// What the library answers to `PRAGMA cipher_version`, such as "4.6.1 community".
  public let libraryVersion: String
  /// The major version whose defaults (page size, derivation, MAC) the file was written with.
  public let generation: Int

  /// Whether the file has the format of an older SQLCipher than the library's own.
  public var isOlderThanLibrary: Bool { generation < Self.generation(of: libraryVersion) }

  static func generation(of version: String) -> Int {
    Int(version.prefix { $0.isNumber }) ?? 0
  }
}
