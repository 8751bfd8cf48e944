import EncryptedSQLite
import Foundation
import TestSupport
import Testing

#if os(Linux)
  @Suite(.enabled(if: !Campaign.isSanitized, "a sanitizer's shadow of the memory has terabytes of addresses"))
  struct SecureBytesTests {
    @Test("A key is in this process's memory once while it is held, and not at all after its release")
    func wiped() async {
      await #expect(processExitsWith: .success) {
        var generator = SeededGenerator(seed: 42)
        let inverted = (0..<200).map { _ in UInt8.random(in: 0...255, using: &generator) }
        // The middle is searched for: the allocator writes to the ends of what was freed.
        let middle = Array(inverted[50..<150])
        try withUnsafeTemporaryAllocation(byteCount: 200, alignment: 1) { source in
          for index in 0..<200 { source[index] = ~inverted[index] }
          var key: EncryptionKey? = try EncryptionKey(bytes: UnsafeRawBufferPointer(source))
          PlatformCrypto.wipe(source)
          #expect(try OwnMemory.count(inverted: middle) == 1)
          let copy = key
          key = nil
          #expect(try OwnMemory.count(inverted: middle) == 1)
          withExtendedLifetime(copy) {}
        }
        #expect(try OwnMemory.count(inverted: middle) == 0)
      }
    }

    @Test("A key from bytes that are not side by side is in memory once too, and not at all after its release")
    func wipedSequence() async {
      await #expect(processExitsWith: .success) {
        var generator = SeededGenerator(seed: 43)
        let inverted = (0..<600).map { _ in UInt8.random(in: 0...255, using: &generator) }
        var key: EncryptionKey? = try EncryptionKey(bytes: AnySequence(inverted.lazy.map { ~$0 }))
        // Parts that a growing buffer would have left behind, too.
        let parts = [0, 64, 128, 256, 500].map { Array(inverted[$0 + 20..<$0 + 60]) }
        let held = try parts.map { try OwnMemory.count(inverted: $0) }
        #expect(held == parts.map { _ in 1 })
        withExtendedLifetime(key) {}
        key = nil
        let left = try parts.map { try OwnMemory.count(inverted: $0) }
        #expect(left == parts.map { _ in 0 })
      }
    }

    @Test("A derived key is in memory once while it is held, and none of its blocks afterwards")
    func wipedDerivation() async {
      await #expect(processExitsWith: .success) {
        let secret = [UInt8](repeating: 7, count: 32)
        // Of a length that nothing else here has: what was freed of it is not soon used for something else.
        let info = [UInt8](repeating: 9, count: 700)
        var key: SecureBytes? = secret.withUnsafeBytes {
          HKDF.derive(from: $0, salt: Array(0..<16), info: info, count: 90)
        }
        let parts = [0, 32, 64].map { start in
          key?.withUnsafeBytes { bytes in (start + 4..<start + 24).map { ~bytes[$0] } } ?? []
        }
        let held = try parts.map { try OwnMemory.count(inverted: $0) }
        #expect(held == parts.map { _ in 1 })
        withExtendedLifetime(key) {}
        key = nil
        let left = try parts.map { try OwnMemory.count(inverted: $0) }
        #expect(left == parts.map { _ in 0 })
      }
    }
  }
#endif
