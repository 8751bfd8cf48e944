import EncryptedSQLite
import Testing

@Suite struct HexadecimalTests {
  @Test func digits() {
    let digits = Array("0123456789abcdef".utf8)
    #expect((0..<16).map(Hexadecimal.digit) == digits)
    let both = Set(digits + "ABCDEF".utf8)
    for byte in UInt8.min...UInt8.max { #expect(Hexadecimal.isDigit(byte) == both.contains(byte)) }
  }

  @Test func textHasTwoDigitsAByte() {
    #expect(Hexadecimal.text([0, 9, 10, 127, 255]) == "00090a7fff")
    #expect(Hexadecimal.text([]) == "")
  }
}
