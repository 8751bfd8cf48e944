import EncryptedSQLite
import Testing

@Suite struct PlatformCryptoTests {
  /// The examples that NIST publishes for FIPS 180-4: the empty message, one block, two blocks, a million bytes.
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      String(repeating: "a", count: 1_000_000),
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    ),
  ])
  func sha256(_ message: String, _ digest: String) {
    #expect(Hexadecimal.text(PlatformCrypto.sha256(Array(message.utf8))) == digest)
    #expect(Hexadecimal.text(PlatformCrypto.sha256(Array(message.utf8).lazy.map { $0 })) == digest)
  }

  /// RFC 4231, sections 4.2, 4.3 and 4.7: a short key, a text as key, a key longer than a block. And without a message.
  @Test(arguments: [
    (
      String(repeating: "0b", count: 20), "4869205468657265",
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      String(repeating: "aa", count: 131),
      "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374",
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
    ("6b", "", "8bb990c40a7d61cb97597a942125025be50ac8beb74436e3735b98893a7f6620"),
  ])
  func hmac(_ key: String, _ message: String, _ code: String) {
    let (key, message) = (bytes(key), bytes(message))
    let result = key.withUnsafeBytes { key in message.withUnsafeBytes { PlatformCrypto.hmacSHA256($0, key: key) } }
    #expect(Hexadecimal.text(result) == code)
  }

  /// Test cases 13 to 16 for AES-256 of McGrew and Viega, "The Galois/Counter Mode of Operation", appendix B.
  @Test(arguments: [
    Sealing(key: zeros(32), nonce: zeros(12), result: "530f8afbc74536b9a963b4f1c4cb738b"),
    Sealing(
      key: zeros(32), nonce: zeros(12), plaintext: zeros(16),
      result: "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"),
    Sealing(
      key: longKey, nonce: "cafebabefacedbaddecaf888", plaintext: longText + "1aafd255",
      result: longResult + "898015adb094dac5d93471bdec1a502270e3cc6c"),
    Sealing(
      key: longKey, nonce: "cafebabefacedbaddecaf888", plaintext: longText,
      data: "feedfacedeadbeeffeedfacedeadbeefabaddad2", result: longResult + "76fc6ece0f4e1768cddf8853bb2d551b"),
  ])
  func sealing(_ example: Sealing) {
    let (key, nonce, plaintext) = (bytes(example.key), bytes(example.nonce), bytes(example.plaintext))
    let (data, result) = (bytes(example.data), bytes(example.result))
    func open(_ sealed: [UInt8], _ data: [UInt8]) -> [UInt8]? {
      sealed.withUnsafeBytes { sealed in
        key.withUnsafeBytes { PlatformCrypto.open(sealed, key: $0, nonce: nonce, authenticating: data) }
      }
    }
    let sealed = plaintext.withUnsafeBytes { plaintext in
      key.withUnsafeBytes { PlatformCrypto.seal(plaintext, key: $0, nonce: nonce, authenticating: data) }
    }
    #expect(sealed == result)
    #expect(open(sealed, data) == plaintext)
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(open(changed, data) == nil)
    }
    #expect(open(sealed, data + [0]) == nil)
    #expect(open(sealed.dropLast(), data) == nil)
    #expect(open([], data) == nil)
  }

  struct Sealing {
    let key: String
    let nonce: String
    var plaintext = ""
    var data = ""
    let result: String
  }

  private static func zeros(_ count: Int) -> String { String(repeating: "00", count: count) }
  private static let longKey = String(repeating: "feffe9928665731c6d6a8f9467308308", count: 2)
  private static let longText =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
  private static let longResult =
    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"

  private func bytes(_ text: String) -> [UInt8] {
    let digits = Array(text.utf8)
    return stride(from: 0, to: digits.count, by: 2).map {
      Hexadecimal.value(digits[$0]) << 4 | Hexadecimal.value(digits[$0 + 1])
    }
  }

  static func random(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      buffer.initialize(repeating: 0)
      PlatformCrypto.random(into: UnsafeMutableRawBufferPointer(buffer))
      initialized = count
    }
  }

  @Test func randomBytesDoNotRepeat() {
    let samples = (0..<200).map { _ in Self.random(16) }
    #expect(Set(samples).count == samples.count)
    #expect(Self.random(0).isEmpty)
  }

  @Test("The whole buffer is filled: in 64 draws each place gets a byte other than 0")
  func randomFillsToTheEnd() {
    var seen = [UInt8](repeating: 0, count: 33)
    for _ in 0..<64 { for (index, byte) in Self.random(33).enumerated() { seen[index] |= byte } }
    #expect(!seen.contains(0))
  }

  @Test func equal() {
    func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
      left.withUnsafeBytes { left in right.withUnsafeBytes { PlatformCrypto.equal(left, $0) } }
    }
    #expect(equal([1, 2, 3], [1, 2, 3]))
    #expect(equal([], []))
    #expect(!equal([1, 2, 3], [1, 2, 4]))
    #expect(!equal([0, 2, 3], [1, 2, 3]))
    #expect(!equal([1, 2], [1, 2, 3]))
    #expect(!equal([], [0]))
  }

  @Test func wipe() {
    var bytes = [UInt8](repeating: 7, count: 100)
    bytes.withUnsafeMutableBytes { PlatformCrypto.wipe(UnsafeMutableRawBufferPointer(rebasing: $0[10..<90])) }
    #expect(bytes.enumerated().allSatisfy { $1 == ((10..<90).contains($0) ? 0 : 7) })
  }

  @Test("HKDF-SHA-256 gives RFC 5869's results (appendices A.1 to A.3)")
  func hkdf() {
    let cases = [
      (
        String(repeating: "0b", count: 22), "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
      ),
      (
        (0x00...0x4f).map { Hexadecimal.text([$0]) }.joined(), (0x60...0xaf).map { Hexadecimal.text([$0]) }.joined(),
        (0xb0...0xff).map { Hexadecimal.text([$0]) }.joined(),
        "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"
      ),
      (
        String(repeating: "0b", count: 22), "", "",
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
      ),
    ]
    for (secret, salt, info, output) in cases {
      let derived = bytes(secret).withUnsafeBytes {
        HKDF.derive(from: $0, salt: bytes(salt), info: bytes(info), count: output.count / 2)
      }
      #expect(derived.withUnsafeBytes { Hexadecimal.text(Array($0)) } == output)
    }
  }

  @Test("What was sealed opens only as it was, with its key, its nonce and its data")
  func tampering() {
    let (key, nonce, data) = (Self.random(32), Self.random(12), Array("data".utf8))
    let sealed = seal(Array("text".utf8), key, nonce, data)
    #expect(open(sealed, key, nonce, data) == Array("text".utf8))
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(open(changed, key, nonce, data) == nil)
    }
    #expect(open(sealed, Self.random(32), nonce, data) == nil)
    #expect(open(sealed, key, Self.random(12), data) == nil)
    #expect(open(sealed, key, nonce, Array("datb".utf8)) == nil)
    #expect(open(Array(sealed.dropLast()), key, nonce, data) == nil)
    #expect(open(Array(sealed.prefix(15)), key, nonce, data) == nil)
    #expect(open(seal([], key, nonce, []), key, nonce, []) == [])
  }

  private func seal(_ plaintext: [UInt8], _ key: [UInt8], _ nonce: [UInt8], _ data: [UInt8]) -> [UInt8] {
    key.withUnsafeBytes { key in
      plaintext.withUnsafeBytes { PlatformCrypto.seal($0, key: key, nonce: nonce, authenticating: data) }
    }
  }

  private func open(_ sealed: [UInt8], _ key: [UInt8], _ nonce: [UInt8], _ data: [UInt8]) -> [UInt8]? {
    key.withUnsafeBytes { key in
      sealed.withUnsafeBytes { PlatformCrypto.open($0, key: key, nonce: nonce, authenticating: data) }
    }
  }
}
