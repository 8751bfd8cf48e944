/// Texts that are meant as raw keys and are passphrases to SQLCipher, letter by letter.
enum NearRawKey {
  /// Whether `bytes`, which are no raw key, have the digits of one: 64 or 96 hexadecimal digits with an optional `x` or
  /// `0x` before them, or any number of them behind `x'`, where a file was cut. Blanks, line ends, quotes, zeros of UTF-16
  /// and whatever is not ASCII, as a byte order mark, do not count.
  static func isOne(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var digits = 0
    var isMarked = false
    var hasQuote = false
    for byte in bytes where !isPassedOver(byte) {
      if Hexadecimal.isDigit(byte) {
        digits += 1
      } else if byte == UInt8(ascii: "'") {
        hasQuote = hasQuote || (isMarked && digits == 0)
      } else if byte | 0x20 == UInt8(ascii: "x"), !isMarked, digits == 0 || (digits == 1 && isZero(bytes)) {
        isMarked = true
        digits = 0
      } else {
        return false
      }
    }
    return digits == 64 || digits == 96 || (hasQuote && digits > 0)
  }

  private static func isPassedOver(_ byte: UInt8) -> Bool {
    byte <= UInt8(ascii: " ") || byte == 0x7f || byte >= 0x80 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "`")
  }

  /// Whether the first byte that counts is a zero, as of `0x`.
  private static func isZero(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.first { !isPassedOver($0) && $0 != UInt8(ascii: "'") } == UInt8(ascii: "0")
  }
}

extension EncryptionKey {
  /// As ``resemblesRawKey``, of the text alone: what a file or a keychain would give back, where none can say that it
  /// is meant as a passphrase.
  var hasTextOfNearRawKey: Bool { kind == .passphrase && withUnsafeBytes(NearRawKey.isOne) }

  /// What kind of key this is, in words.
  public var kindInWords: String {
    switch kind {
    case .passphrase: resemblesRawKey ? "passphrase (resembles a raw key)" : "passphrase"
    case .rawKey: "raw key"
    case .rawKeyWithSalt: "raw key with salt"
    }
  }

  /// That this can be the key of a new file, or a file's new key.
  ///
  /// - Throws: `invalidRawKey`. No file was touched.
  package func requireChosen() throws {
    guard resemblesRawKey else { return }
    throw DatabaseError(
      .invalidRawKey,
      "the key resembles a raw key x'…' and is not exactly one, so it would be a passphrase, which protects less: give x', "
        + "64 hexadecimal digits, or 96 with the salt, and ' with nothing around them, or say that it is a passphrase")
  }
}

extension EncryptionKey {
  /// That a place which keeps a key's text alone gives back this key.
  ///
  /// - Throws: `invalidRawKey`.
  func requireReadingBack() throws {
    guard hasTextOfNearRawKey else { return }
    throw DatabaseError(
      .invalidRawKey,
      "the passphrase resembles a raw key x'…', and where keys are kept nothing would say that it is none: choose other words"
    )
  }
}

extension DatabaseError {
  /// The file at `path` does not open under a key that resembles a raw key.
  static func nearRawKey(_ path: String, _ error: DatabaseError) -> DatabaseError {
    DatabaseError(
      .invalidRawKey,
      "the key resembles a raw key x'…' and is not exactly one, and \(path) does not open with it as a passphrase either: "
        + "take away what is around it or give what is missing: x', 64 hexadecimal digits, or 96 with the salt, and '",
      sqliteCode: error.sqliteCode)
  }

  /// The file does not open with the key: ``Code/wrongKey``, or `invalidRawKey` for a key that resembles a raw key.
  package var isOfKey: Bool { code == .wrongKey || code == .invalidRawKey }
}
