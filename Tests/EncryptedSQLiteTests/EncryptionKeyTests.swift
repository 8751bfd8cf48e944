import EncryptedSQLite
import Foundation
import TestSupport
import Testing

@Suite struct EncryptionKeyTests {
  static let digits = String(repeating: "0123456789abcdef", count: 4)

  static func bytes(_ key: EncryptionKey) -> [UInt8] { key.withUnsafeBytes { Array($0) } }

  // MARK: Parsing

  @Test(arguments: ["x'\(digits)'", "X'\(digits)'", "x'\(digits.uppercased())'", "X'\(digits.uppercased())'"])
  func rawKey(_ text: String) throws {
    let key = try EncryptionKey(text)
    #expect(key.kind == .rawKey)
    #expect(Self.bytes(key) == Array("x'\(Self.digits)'".utf8), "one key is one sequence of bytes")
  }

  @Test func saltedRawKey() throws {
    let key = try EncryptionKey(Keys.saltedText.uppercased())
    #expect(key.kind == .rawKeyWithSalt)
    #expect(key == (try Keys.salted))
  }

  @Test(
    "Almost a raw key is refused",
    arguments: [
      "x'\(digits.dropLast())'", "x'\(digits)0'", "x'\(digits)\(digits.prefix(33))'",
      "x'\(digits)\(digits.prefix(31))'",
      "x'\(digits.dropLast())g'", "x'\(digits.dropLast()) '", "x''", "X'ab'", "x'correct horse'",
      // SQLCipher looks at the length and the digits, and not at the last quote.
      "x'\(digits)\"", "x'\(digits)x", "x'\(digits)\(digits.prefix(32))0",
    ])
  func almostRaw(_ text: String) {
    #expect(Keys.error { _ = try EncryptionKey(text) } == .invalidRawKey)
  }

  @Test(
    "Anything else is a passphrase, byte by byte",
    arguments: [
      "a", " ", "'", "x", "x'", "'x'", digits, "x'\(digits)", "x\"\(digits)\"", " x'\(digits)'", "x'\(digits)' ",
      "it's", "a\0b", "\0", "🔑", "e\u{301}", "\u{e9}", "%s\\n;--",
    ])
  func passphrase(_ text: String) throws {
    let key = try EncryptionKey(text)
    #expect(key.kind == .passphrase)
    #expect(Self.bytes(key) == Array(text.utf8))
  }

  @Test("A passphrase that is almost a raw key is known for one, unless it is asked for", arguments: Keys.nearRaw)
  func nearRaw(_ near: NamedText) throws {
    let key = try EncryptionKey(near.text)
    #expect(key.kind == .passphrase && key.resemblesRawKey)
    #expect(Self.bytes(key) == Array(near.text.utf8))
    #expect(key.kindInWords == "passphrase (resembles a raw key)")
    let asked = try EncryptionKey.passphrase(near.text)
    #expect(asked == key && !asked.resemblesRawKey && asked.kindInWords == "passphrase")
  }

  @Test(
    "Other words do not resemble a raw key",
    arguments: [
      "a", " ", "'", "x", "x'", "'x'", "it's", "0x", "x'not raw", "🔑", String(digits.dropLast()), digits + "0",
      digits + "g",
      "key \(digits)", "\(digits):\(digits)", "xx\(digits)", "00x\(digits)", digits + "x",
    ])
  func farFromRaw(_ text: String) throws {
    #expect(try !EncryptionKey(text).resemblesRawKey)
  }

  @Test func keysNameTheirKind() throws {
    #expect(
      try [Keys.raw, Keys.salted, Keys.passphrase].map(\.kindInWords) == ["raw key", "raw key with salt", "passphrase"])
    #expect(try [Keys.raw, Keys.salted, .random()].allSatisfy { !$0.resemblesRawKey })
  }

  @Test("The error for a mistyped raw key does not repeat it")
  func errorTextHoldsNoKey() {
    #expect {
      try EncryptionKey("x'\(Self.digits)0'")
    } throws: {
      !"\($0)".contains("0123")
    }
  }

  @Test func empty() {
    #expect(Keys.error { _ = try EncryptionKey("") } == .emptyKey)
    #expect(Keys.error { _ = try EncryptionKey(bytes: [UInt8]()) } == .emptyKey)
    #expect(Keys.error { _ = try EncryptionKey.passphrase("") } == .emptyKey)
  }

  @Test("passphrase(_:) takes malformed literals as words", arguments: ["x'\(digits)0'", "x''", "x'correct horse'"])
  func explicitPassphrase(_ text: String) throws {
    let key = try EncryptionKey.passphrase(text)
    #expect(key.kind == .passphrase)
    #expect(Self.bytes(key) == Array(text.utf8))
  }

  @Test(
    "passphrase(_:) refuses what SQLCipher itself would take for a raw key",
    arguments: ["x'\(digits)'", "X'\(digits)'", "x'\(digits)\"", "x'\(digits)\(digits.prefix(32))'"])
  func noPassphraseThatIsRaw(_ text: String) {
    #expect(Keys.error { _ = try EncryptionKey.passphrase(text) } == .invalidRawKey)
  }

  @Test("Bytes, contiguous or not, give the same key as their text", arguments: [Keys.rawText, Keys.passphraseText])
  func bytesAndText(_ text: String) throws {
    let key = try EncryptionKey(text)
    #expect(try EncryptionKey(bytes: Array(text.utf8)) == key)
    #expect(try EncryptionKey(bytes: Data(text.utf8)) == key)
    #expect(try EncryptionKey(bytes: Array(text.utf8).lazy.map { $0 }) == key)
  }

  @Test func bytesNeedNotBeUTF8() throws {
    let key = try EncryptionKey(bytes: [0xff, 0x00, 0xc3])
    #expect(Self.bytes(key) == [0xff, 0x00, 0xc3])
  }

  // MARK: Equality

  @Test func equality() throws {
    #expect(try EncryptionKey("word") == EncryptionKey("word"))
    #expect(try EncryptionKey("word") != EncryptionKey("Word"))
    #expect(try EncryptionKey("word") != EncryptionKey("words"))
    #expect(try EncryptionKey("\u{e9}") != EncryptionKey("e\u{301}"), "no Unicode normalisation")
    #expect(try Keys.raw != Keys.wrong)
  }

  // MARK: Secrecy

  struct Owner {
    let name = "owner"
    let key: EncryptionKey
    let optional: EncryptionKey?
    let list: [String: EncryptionKey]
  }

  @Test(arguments: [Keys.rawText, Keys.saltedText, Keys.passphraseText])
  func nothingPrintsIt(_ text: String) throws {
    let key = try EncryptionKey(text)
    let owner = Owner(key: key, optional: key, list: ["key": key])
    var printed = "\(key) \(owner) \([key]) "
    print(key, owner, to: &printed)
    debugPrint(key, owner, to: &printed)
    dump(key, to: &printed)
    dump(owner, to: &printed)
    printed += String(describing: key) + String(reflecting: key) + String(reflecting: owner)
    printed += "\(Mirror(reflecting: key).children.map { "\($0)" })"
    #expect(printed.contains("<redacted>") && printed.contains("owner"))
    let secret = text.hasPrefix("x'") ? String(text.dropFirst(2).prefix(8)) : "horse"
    #expect(!printed.contains(secret))
    #expect(Mirror(reflecting: key).children.isEmpty)
    #expect(!((key as Any) is any Encodable))
  }

  // MARK: Random keys

  @Test func randomKeysDiffer() {
    let keys = (0..<100).map { _ in Self.bytes(.random()) }
    #expect(Set(keys).count == keys.count)
  }

  @Test func randomKeyOpensAgainFromItsText() throws {
    let folder = TemporaryFolder()
    let key = EncryptionKey.random()
    #expect(key.kind == .rawKey)
    try SmallStore.make(folder.path("a"), key)
    let again = try EncryptionKey(bytes: Self.bytes(key))
    #expect(again.kind == .rawKey)
    #expect(try SmallStore.texts(folder.path("a"), again) == ["one", "two"])
  }
}
