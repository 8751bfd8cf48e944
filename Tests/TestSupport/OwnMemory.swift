import Foundation

/// Reads this process's whole memory, as a core dump would hold it.
public enum OwnMemory {
  /// How often `pattern`, each byte given inverted so that it is not itself a hit, occurs in writable memory.
  public static func count(inverted: [UInt8]) throws -> Int {
    let size = 1 << 20
    // A mapping of its own, left out of the search: it holds copies of what was read.
    let window = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    let buffer = UnsafeMutableRawBufferPointer(start: window, count: size)
    defer { munmap(window, size) }
    let own = UInt(bitPattern: buffer.baseAddress)
    let memory = open("/proc/self/mem", O_RDONLY)
    defer { close(memory) }
    var found = 0
    for line in try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).split(separator: "\n") {
      let fields = line.split(separator: " ")
      let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
      guard fields[1].hasPrefix("rw"), ends.count == 2 else { continue }
      var start = ends[0]
      while start < ends[1] {
        if (own..<own + UInt(size)).contains(start) {
          start = own + UInt(size)
          continue
        }
        var wanted = min(UInt(size), ends[1] - start)
        if start < own { wanted = min(wanted, own - start) }
        let count = pread(memory, buffer.baseAddress, Int(wanted), Int(start))
        guard count > 0 else { break }
        found += hits(UnsafeRawBufferPointer(rebasing: buffer[..<count]), inverted)
        start += UInt(count)
      }
    }
    return found
  }

  private static func hits(_ bytes: UnsafeRawBufferPointer, _ inverted: [UInt8]) -> Int {
    var found = 0
    var from = 0
    while from < bytes.count,
      let first = memchr(bytes.baseAddress! + from, Int32(~inverted[0]), bytes.count - from)
    {
      let at = first - UnsafeMutableRawPointer(mutating: bytes.baseAddress!)
      if at + inverted.count <= bytes.count, inverted.indices.allSatisfy({ bytes[at + $0] == ~inverted[$0] }) {
        found += 1
      }
      from = at + 1
    }
    return found
  }
}
