import EncryptedSQLite
import Foundation

/// A spool's file, locked for as long as this object lives.
///
/// It begins with 8 bytes that name format and version, 16 random bytes that name the file, 32 bytes of salt, and 16 bytes
/// by which the right key is known. Each entry is its length (4 bytes, big-endian) and that
/// with every bit turned (a damaged length would hide what stands behind it), a nonce (12 bytes), the ciphertext and
/// its tag (16 bytes). Version, file and the entry's number are authenticated with it, so that none can be exchanged for
/// another. Entries are encrypted by AES-256-GCM under a key that HKDF-SHA-256 derives from the store's raw key.
final class SpoolFile {
  private static let magic = Array("AWSPOOL1".utf8)
  private static let info = Array("aware-notification spool 1".utf8)
  private static let headerSize = 72
  private static let prefixSize = 8
  private static let nonceSize = 12
  private static let tagSize = 16
  /// No push is that long.
  private static let longestEntry = 1 << 20
  /// Some megabytes: a store that stays shut for so long will not open by itself.
  private static let largestSize = 16 << 20

  let path: String
  private let descriptor: Int32
  private var header: [UInt8] = []

  /// Waits for the file's lock until `deadline`.
  ///
  /// - Returns: nil when there is no file and none is to be made.
  /// - Throws: `busy`, `notAFile`, and the errors of ``FileSystem``.
  static func open(_ path: String, creating: Bool, until deadline: Date) throws -> SpoolFile? {
    while true {
      let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (creating ? O_CREAT : 0)
      let descriptor = Foundation.open(path, flags, 0o600)
      guard descriptor >= 0 else {
        if errno == ENOENT, !creating { return nil }
        throw FileSystem.error("open the spool", path, errno)
      }
      let file = SpoolFile(path, descriptor)
      try FileSystem.lock(descriptor, path, "the spool \(path)", until: deadline)
      let status = try FileStatus(descriptor: descriptor, path)
      guard status.isRegularFile, status.names <= 1 else {
        throw DatabaseError(.notAFile, "the spool \(path) is no file: move it away")
      }
      // Whoever had the lock before may have taken the file in and away.
      if status.isSameFile(as: try FileStatus(path)) {
        file.header = try file.read(0, min(Self.headerSize, status.size))
        return file
      }
    }
  }

  private init(_ path: String, _ descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  // MARK: The header

  /// Whether the file has a header: one that was cut off while it was made has none, and nothing behind it.
  var isBegun: Bool { header.count == Self.headerSize }

  /// Whether it is a spool of this version.
  var isKnown: Bool { header.starts(with: Self.magic) }

  /// The file's own name, in hexadecimal.
  var fileID: String { Hexadecimal.text(header.dropFirst(8).prefix(16)) }

  /// The key of the entries, nil when `key` is not the one that the file was begun with.
  func entryKey(_ key: EncryptionKey) -> SecureBytes? {
    let derived = Self.derive(key, salt: Array(header[24..<56]))
    let check = Array(header[56..<72])
    let isRight = derived?.withUnsafeBytes { derived in
      check.withUnsafeBytes { PlatformCrypto.equal($0, UnsafeRawBufferPointer(rebasing: derived[32...])) }
    }
    return isRight == true ? derived : nil
  }

  /// 32 bytes for the entries, and 16 that tell whether it is the right key.
  private static func derive(_ key: EncryptionKey, salt: [UInt8]) -> SecureBytes? {
    key.withRawKey { HKDF.derive(from: $0, salt: salt, info: info, count: 48) }
  }

  /// Makes it a spool under `key`.
  func begin(_ key: EncryptionKey) throws {
    var random = [UInt8](repeating: 0, count: 48)
    random.withUnsafeMutableBytes { PlatformCrypto.random(into: $0) }
    guard let derived = Self.derive(key, salt: Array(random[16...])) else { return }
    header = Self.magic + random + derived.withUnsafeBytes { Array($0[32...]) }
    guard ftruncate(descriptor, 0) == 0, fchmod(descriptor, 0o600) == 0 else {
      throw FileSystem.error("write the spool", path, errno)
    }
    try write(header, at: 0)
  }

  // MARK: Entries

  /// Appends `entries`, on the medium on return: all, or none.
  ///
  /// - Returns: false when something stands behind the entries that no writer has begun: then there may be entries behind
  ///   that, and nothing is written over them.
  func append(_ entries: [SpoolEntry], key: SecureBytes) throws -> Bool {
    let (frames, end, isBroken) = try readFrames()
    guard !isBroken else { return false }
    var bytes: [UInt8] = []
    for (index, entry) in entries.enumerated() {
      var plaintext = Array(try entry.encoded())
      defer { plaintext.withUnsafeMutableBytes { PlatformCrypto.wipe($0) } }
      guard plaintext.count <= Self.longestEntry - Self.nonceSize - Self.tagSize else {
        throw DatabaseError(.tooLarge, "a record is too large for the spool (\(plaintext.count) bytes)")
      }
      var nonce = [UInt8](repeating: 0, count: Self.nonceSize)
      nonce.withUnsafeMutableBytes { PlatformCrypto.random(into: $0) }
      let sealed = key.withUnsafeBytes { key in
        plaintext.withUnsafeBytes {
          PlatformCrypto.seal(
            $0, key: UnsafeRawBufferPointer(rebasing: key[..<32]), nonce: nonce,
            authenticating: associatedData(frames.count + index))
        }
      }
      let length = UInt32(nonce.count + sealed.count)
      let prefix = (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) }
      bytes += prefix + prefix.map { ~$0 } + nonce + sealed
    }
    guard end + bytes.count <= Self.largestSize else {
      throw DatabaseError(
        .tooManyWaiting, "the spool \(path) is full (\(frames.count) entries): see why the store does not open")
    }
    // What was cut off at the end was never promised to anybody.
    guard ftruncate(descriptor, off_t(end)) == 0 else { throw FileSystem.error("write the spool", path, errno) }
    do {
      try write(bytes, at: end)
      try FileSystem.sync(path)
      if frames.isEmpty { try FileSystem.syncFolder(of: path) }
    } catch {
      ftruncate(descriptor, off_t(end))
      throw error
    }
    return true
  }

  /// The entries in their order; nil for one that does not authenticate, and all that comes after a length that cannot be.
  ///
  /// - Parameter isCutOff: whether an entry at the end is not whole, as after a kill; it was never promised to anybody.
  func entries(key: SecureBytes) throws -> (entries: [SpoolEntry?], isCutOff: Bool) {
    let (frames, end, isBroken) = try readFrames()
    let entries = try frames.enumerated().map { number, frame -> SpoolEntry? in
      let bytes = try read(frame.offset, frame.length)
      guard bytes.count == frame.length else { return nil }
      let plaintext = key.withUnsafeBytes { key in
        bytes.withUnsafeBytes {
          PlatformCrypto.open(
            UnsafeRawBufferPointer(rebasing: $0[Self.nonceSize...]), key: UnsafeRawBufferPointer(rebasing: key[..<32]),
            nonce: Array(bytes[..<Self.nonceSize]), authenticating: associatedData(number))
        }
      }
      guard var plaintext else { return nil }
      defer { plaintext.withUnsafeMutableBytes { PlatformCrypto.wipe($0) } }
      return SpoolEntry(Data(plaintext))
    }
    let isCutOff = try !isBroken && FileStatus(descriptor: descriptor, path).size > end
    return (isBroken ? entries + [nil] : entries, isCutOff)
  }

  /// How many whole entries there are, of whatever key.
  func count() throws -> Int { isBegun && isKnown ? try readFrames().frames.count : 0 }

  private func associatedData(_ number: Int) -> [UInt8] {
    Array(header[..<24]) + (0..<8).map { UInt8(truncatingIfNeeded: UInt64(number) >> (56 - 8 * UInt64($0))) }
  }

  /// - Parameter isBroken: whether something stands at the end that no writer has begun.
  private func readFrames() throws -> (frames: [(offset: Int, length: Int)], end: Int, isBroken: Bool) {
    let size = try FileStatus(descriptor: descriptor, path).size
    var frames: [(offset: Int, length: Int)] = []
    var end = Self.headerSize
    while size - end >= Self.prefixSize {
      let prefix = try read(end, Self.prefixSize)
      let length = prefix.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      guard prefix.count == Self.prefixSize, prefix.prefix(4).elementsEqual(prefix.suffix(4).map { ~$0 }),
        (Self.nonceSize + Self.tagSize...Self.longestEntry).contains(length)
      else { return (frames, end, true) }
      guard size - end - Self.prefixSize >= length else { break }
      frames.append((end + Self.prefixSize, length))
      end += Self.prefixSize + length
    }
    return (frames, end, false)
  }

  private func read(_ offset: Int, _ count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let received = bytes.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress.map { $0 + filled }, count - filled, off_t(offset + filled))
      }
      if received == 0 { break }
      if received < 0 {
        if errno == EINTR { continue }
        throw FileSystem.error("read the spool", path, errno)
      }
      filled += received
    }
    return Array(bytes[..<filled])
  }

  private func write(_ bytes: [UInt8], at offset: Int) throws {
    guard lseek(descriptor, off_t(offset), SEEK_SET) == offset else {
      throw FileSystem.error("write the spool", path, errno)
    }
    try bytes.withUnsafeBytes { try FileSystem.write($0, to: descriptor, path) }
  }
}
