/// How a file is written, as its connection has to be told right after the key.
struct FileFormat: Sendable, Equatable {
  /// The generation of an older SQLCipher; nil is the library's own.
  var olderGeneration: Int?
  /// Whether the first 32 bytes are in the clear (`cipher_plaintext_header_size`, of SQLCipher 4).
  var hasReadableHeader = false

  /// What tells a connection so.
  ///
  /// - Parameter schema: the name that the file goes by on the connection.
  func pragmas(_ schema: String = "main") -> String {
    let generation = olderGeneration.map { "PRAGMA \(schema).cipher_compatibility = \($0);" } ?? ""
    let header = hasReadableHeader ? "PRAGMA \(schema).cipher_plaintext_header_size = \(Self.readableHeaderSize);" : ""
    return generation + header
  }

  /// What a connection to a file of this format is to say of itself.
  func cipher(libraryVersion: String) -> Cipher {
    var cipher = Cipher(
      libraryVersion: libraryVersion, generation: olderGeneration ?? Cipher.generation(of: libraryVersion))
    cipher.hasReadableHeader = hasReadableHeader
    return cipher
  }

  /// All that SQLite writes there tells of the file: its kind, page size, journal mode, number of changes and of pages.
  static let readableHeaderSize = 32

  /// That a file of this format can be made under `key`.
  ///
  /// - Throws: `readableHeaderUnavailable`.
  func require(_ key: EncryptionKey, libraryVersion: String) throws {
    guard hasReadableHeader else { return }
    guard Cipher.generation(of: libraryVersion) >= 4 else {
      throw DatabaseError(
        .readableHeaderUnavailable,
        "a readable header needs SQLCipher 4, and this library is \(libraryVersion): link a newer one, or make the store "
          + "without")
    }
    guard key.kind == .rawKeyWithSalt else {
      throw DatabaseError(
        .readableHeaderUnavailable,
        "with a readable header the salt is not in the file, and this key does not bring it: give a raw key with its "
          + "salt, of 96 hexadecimal digits, as keygen --with-salt makes it")
    }
  }
}

extension DatabaseError.Code {
  /// A store with a readable header needs SQLCipher 4, and a raw key with its salt.
  public static let readableHeaderUnavailable = Self(rawValue: "readableHeaderUnavailable")
}
