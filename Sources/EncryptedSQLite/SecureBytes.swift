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
