import Foundation

/// A copy of the bytes of a damaged file, in which what is missing does not look like a page of zeros.
///
/// SQLCipher takes such a page for one that was never written and does not authenticate it, so a value would come out
/// with zeros where a page of it was lost.
enum DamagedFile {
  /// Smaller than every page, and no sound page has such a block of zeros.
  private static let blockSize = 512
  private static let mark: UInt8 = 0xff

  /// Copies the bytes at `path` to `copy`, which exists. A block that the disk does not give stays one of zeros, and is
  /// marked as such a block is.
  ///
  /// - Throws: `busy` when another process has the file open.
  static func copy(_ path: String, to copy: String, _ isInterrupted: () -> Bool) throws {
    let source = open(path, O_RDONLY | O_CLOEXEC)
    guard source >= 0 else { throw FileSystem.error("read", path, errno) }
    defer { close(source) }
    let target = open(copy, O_WRONLY | O_CLOEXEC)
    guard target >= 0 else { throw FileSystem.error("write", copy, errno) }
    defer { close(target) }
    try requireUnlocked(source, path)
    var status = stat()
    guard fstat(source, &status) == 0 else { throw FileSystem.error("read", path, errno) }
    let size = Int(status.st_size)
    var offset = 0
    while offset < size {
      try stopIf(isInterrupted)
      let wanted = min(1 << 20, size - offset)
      var bytes = read(source, offset, wanted)
      if !path.hasSuffix("-journal"), !path.hasSuffix("-wal") { markZeros(&bytes) }
      try bytes.withUnsafeBytes { try FileSystem.write($0, to: target, copy) }
      offset += wanted
    }
    try requireUnlocked(source, path)
  }

  /// - Throws: `busy` when another process holds one of SQLite's locks on the file: every connection does that has it open
  ///   in the write-ahead log's mode, and in the others one that reads or writes.
  private static func requireUnlocked(_ descriptor: Int32, _ path: String) throws {
    // From PENDING_BYTE on, see os.h of SQLite.
    var lock = flock()
    (lock.l_type, lock.l_whence, lock.l_start, lock.l_len) = (Int16(F_WRLCK), Int16(SEEK_SET), 0x4000_0000, 512)
    // A file system without locks has none to tell of.
    guard fcntl(descriptor, F_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK) else { return }
    throw inUse(path)
  }

  static func inUse(_ path: String) -> DatabaseError {
    DatabaseError(
      .busy, "\(path) is in use by another program, and nothing was salvaged: close what has it open, and try again")
  }

  /// - Throws: `cancelled`.
  static func stopIf(_ isInterrupted: () -> Bool) throws {
    if isInterrupted() { throw DatabaseError(.cancelled, "the salvage was interrupted; nothing of it is left") }
  }

  /// Lengthens the copy by blocks that no key decrypts.
  static func extend(_ copy: String, to size: Int, _ isInterrupted: () -> Bool) throws {
    let old = FileSystem.size(copy)
    if let free = FileSystem.freeSpace(beside: copy), free < size - old {
      throw DatabaseError(
        .diskFull,
        "the file is \(size - old) bytes shorter than it was, and salvage needs room for them: free some space")
    }
    let descriptor = open(copy, O_WRONLY | O_APPEND | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileSystem.error("write", copy, errno) }
    defer { close(descriptor) }
    let bytes = [UInt8](repeating: mark, count: 1 << 16)
    var rest = size - old
    while rest > 0 {
      try stopIf(isInterrupted)
      try bytes.withUnsafeBytes {
        try FileSystem.write(UnsafeRawBufferPointer(rebasing: $0.prefix(rest)), to: descriptor, copy)
      }
      rest -= bytes.count
    }
  }

  private static func markZeros(_ bytes: inout [UInt8]) {
    for start in stride(from: 0, to: bytes.count, by: blockSize)
    where bytes[start..<min(start + blockSize, bytes.count)].allSatisfy({ $0 == 0 }) {
      bytes[start] = mark
    }
  }

  /// Zeros stand for what cannot be read.
  private static func read(_ descriptor: Int32, _ offset: Int, _ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    if pread(descriptor, &bytes, count, off_t(offset)) == count { return bytes }
    bytes.withUnsafeMutableBytes { bytes in
      for start in stride(from: 0, to: count, by: blockSize) {
        let wanted = min(blockSize, count - start)
        _ = pread(descriptor, bytes.baseAddress.unsafelyUnwrapped + start, wanted, off_t(offset + start))
      }
    }
    return bytes
  }
}
