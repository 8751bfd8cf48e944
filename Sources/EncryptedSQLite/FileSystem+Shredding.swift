import Foundation

extension FileSystem {
  private static let firstPart = 4096
  private static let zeros = [UInt8](repeating: 0, count: 1 << 20)

  /// Overwrites the file at `path` with zeros, on the medium, and removes it. Nothing happens when there is none.
  ///
  /// Its beginning goes first, so that a file left half overwritten shows as such (``isShreddingBegun(_:)``).
  ///
  /// - Parameter passing: called when the beginning is overwritten.
  /// - Throws: `otherNames` when the file has another name, whose content would be overwritten too.
  package static func shred(_ path: String, passing: () -> Void = {}) throws {
    let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return }
      throw error("overwrite", path, errno)
    }
    defer { close(descriptor) }
    let status = try FileStatus(descriptor: descriptor, path)
    guard status.isRegularFile else { throw DatabaseError(.notAFile, "\(path) is not a regular file: move it away") }
    guard status.names <= 1 else { throw otherNames(path) }
    var rest = status.size
    while rest > 0 {
      let isFirst = rest == status.size
      let count = min(rest, isFirst ? firstPart : zeros.count)
      try zeros.withUnsafeBytes { try write(UnsafeRawBufferPointer(rebasing: $0[..<count]), to: descriptor, path) }
      rest -= count
      if isFirst {
        guard flush(descriptor) == 0 else { throw error("write", path, errno) }
        passing()
      }
    }
    guard flush(descriptor) == 0 else { throw error("write", path, errno) }
    try remove(path)
  }

  package static func otherNames(_ path: String) -> DatabaseError {
    DatabaseError(
      .otherNames,
      "\(path) has a second name (a hard link), and overwriting it would destroy what is known by that name: remove "
        + "the other name, or make it a copy of its own")
  }

  /// Whether ``shred(_:passing:)`` was cut off on the file at `path`.
  package static func isShreddingBegun(_ path: String) throws -> Bool {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { throw error("read", path, errno) }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 1, count: firstPart)
    let count = read(descriptor, &bytes, bytes.count)
    guard count >= 0 else { throw error("read", path, errno) }
    return bytes[..<count].allSatisfy { $0 == 0 }
  }

  /// Removes a name; nothing happens when it is gone already.
  package static func remove(_ path: String) throws {
    guard unlink(path) == 0 || errno == ENOENT else { throw error("remove", path, errno) }
  }
}

extension DatabaseError.Code {
  /// The file has a second name (a hard link) by which its content would be destroyed too.
  public static let otherNames = Self(rawValue: "otherNames")
}
