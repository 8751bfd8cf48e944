/// The key of an encrypted store: a passphrase, or a raw 256-bit key with or without its salt.
///
/// Prints as `<redacted>`, hides from `dump`, is not `Codable`, compares in constant time, and wipes the bytes it owns
/// on release. A `String` handed to it cannot be wiped: where that matters use ``init(bytes:)``, or ``KeyFile``.
public struct EncryptionKey: Sendable {
  public enum Kind: Sendable {
    /// SQLCipher derives the key from these words (PBKDF2).
    case passphrase
    /// 32 bytes, used as they are.
    case rawKey
    /// 32 bytes of key and the 16 bytes of salt that the file begins with, unless its header is readable.
    case rawKeyWithSalt
  }

  public let kind: Kind
  /// Whether this is a passphrase that was not asked for as such (``passphrase(_:)``) and resembles a raw key: one with
  /// blanks, quotes, a line end or a byte order mark at or in it, without its last quote, cut short, or only the digits.
  ///
  /// Such a key opens an existing file as the passphrase that it is. As the key of a new file, or a file's new key, it is
  /// `invalidRawKey`: it is likely to be a raw key that was damaged, and is weaker than that.
  public let resemblesRawKey: Bool
  /// What SQLCipher is given: the passphrase's bytes, or the literal `x'…'` in lower case.
  private let material: SecureBytes

  /// Reads a key as `dbEncryptionKey` documents it.
  ///
  /// `x'` (or `X'`), 64 hexadecimal digits and `'` is a raw key; with 96 digits the last 32 are the salt. This is
  /// SQLCipher's own literal (SQLCipher API, "PRAGMA key", example 2 and 3). Anything else is a passphrase: its UTF-8
  /// bytes just as given, without Unicode normalisation; ``resemblesRawKey`` tells of one that was hardly meant so.
  ///
  /// - Throws: `emptyKey`; `invalidRawKey` for a text that is almost such a literal (63 digits, a non-hexadecimal
  ///   digit), which SQLCipher would silently take for a passphrase. ``passphrase(_:)`` takes those words as they are.
  public init(_ text: String) throws {
    var text = text
    self = try text.withUTF8 { try Self(parsing: UnsafeRawBufferPointer($0)) }
  }

  /// Reads a key from UTF-8 bytes by the rules of ``init(_:)``; the caller can then wipe its own copy.
  public init(bytes: some Sequence<UInt8>) throws {
    if let key = try bytes.withContiguousStorageIfAvailable({ try Self(parsing: UnsafeRawBufferPointer($0)) }) {
      self = key
    } else {
      self = try SecureBytes.copy(bytes).withUnsafeBytes { try Self(parsing: $0) }
    }
  }

  /// A passphrase, even where the text looks like a mistyped raw key.
  ///
  /// - Throws: `emptyKey`; `invalidRawKey` when SQLCipher itself would use the text as a raw key.
  public static func passphrase(_ text: String) throws -> Self {
    var text = text
    return try text.withUTF8 { try Self(passphrase: UnsafeRawBufferPointer($0)) }
  }

  /// The raw key that `bytes` are exactly, or the passphrase that they are meant to be, even where they resemble a raw key.
  ///
  /// - Throws: `emptyKey`; `invalidRawKey` as ``passphrase(_:)``.
  package init(meantAsPassphrase bytes: UnsafeRawBufferPointer) throws {
    if Self.isRawForSQLCipher(bytes), bytes.last == UInt8(ascii: "'") {
      try self.init(parsing: bytes)
    } else {
      try self.init(passphrase: bytes)
    }
  }

  /// A new raw key from the system's cryptographic generator.
  ///
  /// - Parameter salted: whether it brings a salt, as a store with a readable header needs it.
  public static func random(salted: Bool = false) -> Self {
    let count = salted ? 48 : 32
    let literal = SecureBytes(count: 2 * count + 3) { literal in
      withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { key in
        PlatformCrypto.random(into: key)
        literal[0] = UInt8(ascii: "x")
        literal[1] = UInt8(ascii: "'")
        for index in 0..<count {
          literal[2 + 2 * index] = Hexadecimal.digit(key[index] >> 4)
          literal[3 + 2 * index] = Hexadecimal.digit(key[index] & 15)
        }
        literal[2 * count + 2] = UInt8(ascii: "'")
        PlatformCrypto.wipe(key)
      }
    }
    return Self(kind: salted ? .rawKeyWithSalt : .rawKey, resemblesRawKey: false, material: literal)
  }

  /// Calls `body` with the text form that ``init(bytes:)`` reads back: the passphrase, or the literal `x'…'`.
  public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try material.withUnsafeBytes(body)
  }

  /// Calls `body` with the 32 bytes of a raw key; nil for a passphrase, which has none before SQLCipher derives them.
  package func withRawKey<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result? {
    guard kind != .passphrase else { return nil }
    return try withUnsafeBytes { literal in
      try withUnsafeTemporaryAllocation(byteCount: 32, alignment: 16) { key in
        defer { PlatformCrypto.wipe(key) }
        for index in 0..<32 {
          key[index] = Hexadecimal.value(literal[2 + 2 * index]) << 4 | Hexadecimal.value(literal[3 + 2 * index])
        }
        return try body(UnsafeRawBufferPointer(key))
      }
    }
  }

  /// Whether both encrypt alike: the same passphrase, or the same 256 bits, whatever salt comes with them.
  package func isSameKey(as other: Self) -> Bool {
    guard (kind == .passphrase) == (other.kind == .passphrase) else { return false }
    let literalWithoutSalt = 66
    return withUnsafeBytes { own in
      other.withUnsafeBytes { others in
        kind == .passphrase
          ? PlatformCrypto.equal(own, others)
          : PlatformCrypto.equal(
            UnsafeRawBufferPointer(rebasing: own[..<literalWithoutSalt]),
            UnsafeRawBufferPointer(rebasing: others[..<literalWithoutSalt]))
      }
    }
  }

  private init(kind: Kind, resemblesRawKey: Bool, material: SecureBytes) {
    self.kind = kind
    self.resemblesRawKey = resemblesRawKey
    self.material = material
  }
}

extension EncryptionKey {
  private init(parsing bytes: UnsafeRawBufferPointer) throws {
    guard Self.looksLikeLiteral(bytes) || Self.isRawForSQLCipher(bytes) else {
      try self.init(passphrase: bytes, resemblesRawKey: NearRawKey.isOne(bytes))
      return
    }
    let digits = bytes.dropFirst(2).dropLast()
    guard bytes.last == UInt8(ascii: "'"), digits.allSatisfy(Hexadecimal.isDigit),
      digits.count == 64 || digits.count == 96
    else {
      throw DatabaseError(
        .invalidRawKey,
        "the key looks like a raw key x'…' and is not one (\(digits.count) characters between the quotes): "
          + "give 64 hexadecimal digits, or 96 with the salt, or say that it is a passphrase")
    }
    // Lower case, so that one key is one sequence of bytes.
    let literal = SecureBytes(count: bytes.count) { target in
      for (index, byte) in bytes.enumerated() {
        target[index] = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
      }
    }
    self.init(kind: digits.count == 64 ? .rawKey : .rawKeyWithSalt, resemblesRawKey: false, material: literal)
  }

  private init(passphrase bytes: UnsafeRawBufferPointer, resemblesRawKey: Bool = false) throws {
    guard !bytes.isEmpty else {
      throw DatabaseError(.emptyKey, "the encryption key is empty: give a passphrase or a raw key x'…'")
    }
    guard !Self.isRawForSQLCipher(bytes) else {
      throw DatabaseError(
        .invalidRawKey, "SQLCipher takes this text for a raw key, not for a passphrase: choose other words")
    }
    self.init(
      kind: .passphrase, resemblesRawKey: resemblesRawKey,
      material: SecureBytes(count: bytes.count) { $0.copyMemory(from: bytes) })
  }

  /// Starts and ends like the literal.
  private static func looksLikeLiteral(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count >= 3 && startsLikeLiteral(bytes) && bytes.last == UInt8(ascii: "'")
  }

  /// SQLCipher's own test looks at the first two bytes, the length and the digits, and not at the closing quote.
  private static func isRawForSQLCipher(_ bytes: UnsafeRawBufferPointer) -> Bool {
    (bytes.count == 67 || bytes.count == 99) && startsLikeLiteral(bytes)
      && bytes.dropFirst(2).dropLast().allSatisfy(Hexadecimal.isDigit)
  }

  private static func startsLikeLiteral(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count >= 2 && bytes[0] | 0x20 == UInt8(ascii: "x") && bytes[1] == UInt8(ascii: "'")
  }
}

extension EncryptionKey: Equatable {
  public static func == (left: Self, right: Self) -> Bool {
    left.withUnsafeBytes { leftBytes in right.withUnsafeBytes { PlatformCrypto.equal(leftBytes, $0) } }
  }
}

extension EncryptionKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "<redacted>" }
  public var debugDescription: String { "<redacted>" }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
