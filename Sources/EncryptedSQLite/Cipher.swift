/// Which SQLCipher reads a file, and which generation's format the file has.
public struct Cipher: Sendable, Equatable {
  /// What the library answers to `PRAGMA cipher_version`, such as "4.6.1 community".
  public let libraryVersion: String
  /// The major version whose defaults (page size, derivation, MAC) the file was written with.
  public let generation: Int
  /// Whether the file's first 32 bytes are in the clear. See ``Connection/Options/hasReadableHeader``.
  public internal(set) var hasReadableHeader = false

  /// What a file was written with in place of its generation's defaults.
  public struct Settings: Sendable, Equatable {
    /// In bytes: a power of two from 512 to 65,536.
    public var pageSize: Int?
    /// The rounds of PBKDF2 by which a passphrase becomes a key.
    public var kdfIterations: Int?

    public init(pageSize: Int? = nil, kdfIterations: Int? = nil) {
      self.pageSize = pageSize
      self.kdfIterations = kdfIterations
    }

    /// - Throws: `invalidArgument`.
    package func check() throws {
      if let pageSize, !(512...65_536).contains(pageSize) || pageSize & (pageSize - 1) != 0 {
        throw DatabaseError(.invalidArgument, "the page size is \(pageSize): give a power of two from 512 to 65536")
      }
      if let kdfIterations, !(1...100_000_000).contains(kdfIterations) {
        throw DatabaseError(.invalidArgument, "the iterations are \(kdfIterations): give 1 to 100000000")
      }
    }
  }

  /// Whether the file has the format of an older SQLCipher than the library's own.
  public var isOlderThanLibrary: Bool { generation < Self.generation(of: libraryVersion) }

  /// What a connection to a file of this kind has to be told.
  var format: FileFormat {
    FileFormat(olderGeneration: isOlderThanLibrary ? generation : nil, hasReadableHeader: hasReadableHeader)
  }

  static func generation(of version: String) -> Int {
    Int(version.prefix { $0.isNumber }) ?? 0
  }
}
