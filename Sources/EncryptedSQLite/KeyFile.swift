import Foundation

/// Keys in files and descriptors, read without leaving a copy behind.
///
/// One final line end (LF or CRLF), as editors and `echo` leave it, is not part of the key. Nothing is decoded.
public enum KeyFile {
  /// No key is that long; a larger file is a mistake, such as the store itself.
  private static let largestSize = 1 << 20

  /// Reads the key in the file at `path`.
  ///
  /// - Parameter isPassphrase: whether what resembles a raw key and is none is meant as a passphrase; a raw key stays one.
  /// - Throws: `keyNotFound`, `keyUnavailable` (not readable now), `keyExposed` (other users can read it, or it is
  ///   somebody else's), `emptyKey`, `invalidRawKey`.
  public static func read(_ path: String, isPassphrase: Bool = false) throws -> EncryptionKey {
    try withBytes(of: path) { try key($0, "the key file \(path)", isPassphrase) }
  }

  /// Calls `body` with what the secret file at `path` holds, under the same rules; the bytes are wiped afterwards.
  package static func withBytes<Result>(of path: String, _ body: (UnsafeRawBufferPointer) throws -> Result) throws
    -> Result
  {
    // Not blocking: a FIFO without a writer must not hang the caller for ever.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      let reason = errno
      throw reason == ENOENT
        ? DatabaseError(.keyNotFound, "there is no key file at \(path): make one with keygen, or check the path")
        : DatabaseError(.keyUnavailable, "cannot read the key file \(path): \(text(of: reason))")
    }
    defer { close(descriptor) }
    try checkOwnerAndMode(descriptor, path)
    _ = fcntl(descriptor, F_SETFL, 0)
    return try withBytes(of: descriptor, name: "the key file \(path)", body)
  }

  /// As ``withBytes(of:_:)``, of an open descriptor, to its end.
  package static func withBytes<Result>(
    ofDescriptor descriptor: Int32, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    try withBytes(of: descriptor, name: name(of: descriptor), body)
  }

  /// Reads the key from an open descriptor, such as a pipe, to its end.
  ///
  /// - Throws: `keyUnavailable`, `emptyKey`, `invalidRawKey`.
  public static func read(descriptor: Int32, isPassphrase: Bool = false) throws -> EncryptionKey {
    try withBytes(ofDescriptor: descriptor) { try key($0, name(of: descriptor), isPassphrase) }
  }

  /// Reads the key from the next line of an open descriptor, such as a terminal.
  ///
  /// - Throws: `keyUnavailable`, `emptyKey`, `invalidRawKey`.
  public static func readLine(descriptor: Int32, isPassphrase: Bool = false) throws -> EncryptionKey {
    try withBytes(of: descriptor, name: "the key", untilNewline: true) { try key($0, "the key", isPassphrase) }
  }

  /// Writes `key` and a newline (none after a CR) to a new file that only this user can read, durable on return.
  ///
  /// - Throws: `invalidRawKey` for a passphrase that reads back as one that resembles a raw key; `alreadyExists`;
  ///   `notFound` (no such folder), `permissionDenied`, `diskFull`, `inputOutput`. A file that
  ///   could not be completed is removed again.
  public static func create(_ path: String, _ key: EncryptionKey) throws {
    try key.requireReadingBack()
    try key.withUnsafeBytes { try create(path, $0) }
  }

  /// As ``create(_:_:)``, for a new key that signs uploads: 64 hexadecimal digits in lower case, 256 random bits.
  package static func createSigningKey(_ path: String) throws { try withSigningKey { try create(path, $0) } }

  /// Calls `body` with the digits of a new key that signs uploads.
  package static func withSigningKey<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    // A raw key's literal x'…' has them between its quotes.
    try EncryptionKey.random().withUnsafeBytes { literal in
      try body(UnsafeRawBufferPointer(rebasing: literal.dropFirst(2).dropLast()))
    }
  }

  private static func create(_ path: String, _ bytes: UnsafeRawBufferPointer) throws {
    let path = try FileSystem.absolute(path)
    // Under its name it is complete: half of a raw key would be taken for a passphrase.
    try NewFile.make(path, "make the key file") { aside in
      let descriptor = open(aside, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
      guard descriptor >= 0 else { throw FileSystem.error("make the key file", path, errno) }
      defer { close(descriptor) }
      try FileSystem.write(bytes, to: descriptor, path)
      // After a CR it would make a CRLF, and reading would take the key's own last byte away.
      guard bytes.last != UInt8(ascii: "\r") else { return }
      try [UInt8(ascii: "\n")].withUnsafeBytes { try FileSystem.write($0, to: descriptor, path) }
    }
  }

  private static func name(of descriptor: Int32) -> String {
    descriptor == STDIN_FILENO ? "standard input" : "file descriptor \(descriptor)"
  }

  private static func key(
    _ bytes: UnsafeRawBufferPointer, _ name: String, _ isPassphrase: Bool
  ) throws -> EncryptionKey {
    do {
      return try isPassphrase ? EncryptionKey(meantAsPassphrase: bytes) : EncryptionKey(bytes: bytes)
    } catch let error as DatabaseError {
      throw DatabaseError(error.code, "\(name): \(error.message)")
    }
  }

  private static func withBytes<Result>(
    of descriptor: Int32, name: String, untilNewline: Bool = false, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: largestSize, alignment: 1)
    var count = 0
    defer {
      PlatformCrypto.wipe(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
      buffer.deallocate()
    }
    while true {
      guard count < buffer.count else {
        throw DatabaseError(.keyUnavailable, "\(name) is larger than a key can be (1 MiB): is it the right file?")
      }
      // Byte by byte where a line is asked for: what follows it in a pipe is left to the next reader.
      let wanted = untilNewline ? 1 : buffer.count - count
      let received = Foundation.read(descriptor, buffer.baseAddress.map { $0 + count }, wanted)
      if received == 0 { break }
      if received < 0 {
        if errno == EINTR { continue }
        throw DatabaseError(.keyUnavailable, "cannot read \(name): \(text(of: errno))")
      }
      count += received
      if untilNewline, buffer[count - 1] == UInt8(ascii: "\n") { break }
    }
    var length = count
    if length > 0, buffer[length - 1] == UInt8(ascii: "\n") { length -= 1 }
    if length > 0, length < count, buffer[length - 1] == UInt8(ascii: "\r") { length -= 1 }
    return try body(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
  }

  package static func checkOwnerAndMode(_ descriptor: Int32, _ path: String) throws {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw DatabaseError(.keyUnavailable, "cannot read the key file \(path): \(text(of: errno))")
    }
    // A pipe (`<(pass show study)`) has no mode that means anything.
    guard status.st_mode & S_IFMT == S_IFREG else { return }
    guard status.st_mode & 0o077 == 0 else {
      throw DatabaseError(
        .keyExposed, "other users may read or change the key file \(path): run chmod 600 on it, and consider a new key")
    }
    guard status.st_uid == geteuid() || status.st_uid == 0 else {
      throw DatabaseError(.keyExposed, "the key file \(path) belongs to another user: use a copy of your own")
    }
  }

  private static func text(of reason: Int32) -> String { String(cString: strerror(reason)) }
}
