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
}
