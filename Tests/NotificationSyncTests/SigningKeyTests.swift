import EncryptedSQLite
import Foundation
import NotificationSync
import TestSupport
import Testing

#if os(Linux)
  @Suite(.enabled(if: !Campaign.isSanitized, "a sanitizer's shadow of the memory has terabytes of addresses"))
  struct SigningKeyTests {
    @Test("A signing key is in memory once while it is held, and not at all after its release")
    func wiped() async {
      await #expect(processExitsWith: .success) {
        var generator = SeededGenerator(seed: 44)
        let inverted = (0..<200).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let middle = Array(inverted[50..<150])
        try withUnsafeTemporaryAllocation(byteCount: 200, alignment: 1) { source in
          for index in 0..<200 { source[index] = ~inverted[index] }
          var key: SigningKey? = try SigningKey(UnsafeRawBufferPointer(source), id: "device")
          PlatformCrypto.wipe(source)
          #expect(try OwnMemory.count(inverted: middle) == 1)
          withExtendedLifetime(key) {}
          key = nil
        }
        #expect(try OwnMemory.count(inverted: middle) == 0)
      }
    }
  }
#endif
