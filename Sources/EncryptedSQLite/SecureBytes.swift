/// A buffer of fixed size that is wiped when its last owner lets go.
///
/// - Note: `@unchecked Sendable`: the bytes are written in `init` only, before anyone else can see the object.
package final class SecureBytes: @unchecked Sendable {
  private let buffer: UnsafeMutableRawBufferPointer

  /// Calls `initialize` once with the zeroed buffer.
  package init(count: Int, initialize: (UnsafeMutableRawBufferPointer) throws -> Void) rethrows {
    buffer = .allocate(byteCount: count, alignment: 16)
    buffer.initializeMemory(as: UInt8.self, repeating: 0)
    do {
      try initialize(buffer)
    } catch {
      Self.release(buffer)
      throw error
    }
  }

  /// A copy of `bytes`; what the copying needs besides is wiped.
  package static func copy(_ bytes: some Sequence<UInt8>) -> SecureBytes {
    let copy = bytes.withContiguousStorageIfAvailable { bytes in
      SecureBytes(count: bytes.count) { $0.copyMemory(from: UnsafeRawBufferPointer(bytes)) }
    }
    if let copy { return copy }
    // How many there are is known at their end only.
    var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(64, bytes.underestimatedCount), alignment: 16)
    defer { release(buffer) }
    var count = 0
    for byte in bytes {
      if count == buffer.count {
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * count, alignment: 16)
        larger.copyMemory(from: UnsafeRawBufferPointer(buffer))
        release(buffer)
        buffer = larger
      }
      buffer[count] = byte
      count += 1
    }
    return SecureBytes(count: count) { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
  }

  deinit { Self.release(buffer) }

  package var count: Int { buffer.count }

  package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try body(UnsafeRawBufferPointer(buffer))
  }

  private static func release(_ buffer: UnsafeMutableRawBufferPointer) {
    PlatformCrypto.wipe(buffer)
    buffer.deallocate()
  }
}
