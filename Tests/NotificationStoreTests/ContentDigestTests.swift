import EncryptedSQLite
import TestSupport
import Testing

@testable import NotificationStore

@Suite struct ContentDigestTests {
  /// Rows are digested without allocations; the plain form is the definition.
  @Test(arguments: [
    NamedText("empty", ""), NamedText("other scripts", "é vs é, ﷽, 👩‍👩‍👧‍👦"),
    NamedText("long", String(repeating: "long ", count: 2000)),
  ])
  func bothFormsAgree(named: NamedText) {
    let text = named.text
    var data = NotificationData()
    (data.bundleIdentifier, data.title, data.body, data.sound) = ("b" + text, text, text + "x", "default")
    (data.badge, data.interruptionLevel) = (-3, 2)
    let digest = data.withContentDigest { [UInt8]($0) }
    #expect(digest == ContentDigest.bytes(of: data.deliveredValues))
    #expect(digest.count == 16)
  }

  @Test func boundariesBetweenFieldsCount() {
    let values: [[SQLValue]] = [
      [.text("ab"), .text("c")], [.text("a"), .text("bc")], [.text("abc")], [.blob([97, 98, 99])], [.text("1")],
      [.integer(1)], [.real(1)], [.null], [], [.null, .null],
    ]
    #expect(Set(values.map(ContentDigest.bytes)).count == values.count)
  }

  @Test func theEncodingIsFrozen() {
    // hashlib.sha256(b"t" + (1).to_bytes(8, "little") + b"a" + b"i" + (8).to_bytes(8, "little")
    //   + (-1).to_bytes(8, "little", signed=True)).hexdigest()[:32]
    #expect(
      Hexadecimal.text(ContentDigest.bytes(of: [.text("a"), .integer(-1)])) == "2e9738dc4b2f2672682bea4e1090edff")
  }
}
