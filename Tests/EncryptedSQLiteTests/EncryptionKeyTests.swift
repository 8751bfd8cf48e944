import EncryptedSQLite
import TestSupport
import Testing

@Suite struct EncryptionKeyTests {
  @Test func redactsItself() throws {
    let key = try Keys.raw
    #expect("\(key)" == "<redacted>")
    #expect(Program.products.isEmpty == false)
  }
}
