import Foundation

/// Makes a file aside and gives it its name only when it is complete.
///
/// Its maker marks the work with an empty file, `<path>.new-<16 hexadecimal digits>`, on which it holds a lock; the file
/// itself is built at the marker's name and `-db`. `link` gives the final name, which it refuses when somebody else was
/// first: then that one's file stands, and ours is removed. A marker whose lock is free is that of a maker that was
/// killed, and a file without its marker what a power cut left of one. The lock is not on the file itself, for on Apple's
/// systems it would keep SQLite's own locks out.
package enum NewFile {
  /// Calls `build` with the path of a new file of no bytes (mode 0600), then publishes that file at `path`.
  ///
  /// - Returns: false when another process had published its own file meanwhile.
  /// - Throws: what `build` throws, and the errors of ``FileSystem``; nothing is left over.
  package static func publish(_ path: String, build: (String) throws -> Void) throws -> Bool {
    removeAbandoned(beside: path)
    for log in ["-wal", "-journal"] where FileSystem.size(path + log) > 0 {
      // SQLite would fold it into the new file, and ruin that.
      throw DatabaseError(
        .alreadyExists, "\(path + log) is left of a store that stood here: move it away, or put its store back")
    }
    return try withFileAside(beside: path) { aside in
      try build(aside)
      try FileSystem.sync(aside)
      guard link(aside, path) == 0 else {
        if errno == EEXIST { return false }
        throw FileSystem.error("make", path, errno)
      }
      unlink(aside)
      try FileSystem.syncFolder(of: path)
      return true
    }
  }

  /// As ``publish(_:build:)``, where nobody else has a reason to make the file.
  ///
  /// - Parameter action: what an error says could not be done.
  /// - Throws: `alreadyExists`, too.
  package static func make<Result>(
    _ path: String, _ action: String = "make", build: (String) throws -> Result
  ) throws -> Result {
    var result: Result?
    let isNew = try publish(path) { result = try build($0) }
    guard isNew, let result else { throw FileSystem.error(action, path, EEXIST) }
    return result
  }

  /// Calls `body` with the path of a new file of no bytes (mode 0600), which `body` may give another name. What stands at
  /// the path afterwards is removed.
  package static func withFileAside<Result>(beside path: String, _ body: (String) throws -> Result) throws -> Result {
    removeAbandoned(beside: path)
    let (marker, lock) = try makeMarker(beside: path)
    defer {
      remove(marker)
      close(lock)
    }
    let aside = marker + builtSuffix
    close(try FileSystem.createForOwner(aside, named: path))
    return try body(aside)
  }

  /// Removes what killed processes and power cuts left beside `path`.
  package static func removeAbandoned(beside path: String) {
    let folder = FileSystem.folder(of: path)
    let prefix = Array((FileSystem.name(of: path) + ".new-").utf8)
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      let rest = name.utf8.dropFirst(prefix.count)
      let (digits, suffix) = (rest.prefix(2 * randomSize), rest.dropFirst(2 * randomSize))
      guard name.utf8.starts(with: prefix), digits.count == 2 * randomSize, digits.allSatisfy(Hexadecimal.isDigit)
      else { continue }
      let marker = folder + "/" + String(decoding: name.utf8.dropLast(suffix.count), as: UTF8.self)
      if suffix.isEmpty {
        removeIfAbandoned(marker)
      } else if builtSuffixes.contains(where: { suffix.elementsEqual($0.utf8) }), access(marker, F_OK) != 0,
        errno == ENOENT
      {
        // A maker has its marker before and after everything else.
        remove(marker)
      }
    }
  }

  private static func removeIfAbandoned(_ marker: String) {
    let descriptor = open(marker, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    // A marker has no bytes: whatever else has such a name is somebody's own.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, isFile(descriptor, at: marker), FileSystem.size(marker) == 0
    else { return }
    remove(marker)
  }

  private static let builtSuffix = "-db"
  private static let builtSuffixes = ["", "-journal", "-wal", "-shm"].map { builtSuffix + $0 }
  private static let randomSize = 8

  /// A new marker and the descriptor that holds its lock.
  private static func makeMarker(beside path: String) throws -> (String, Int32) {
    while true {
      var random = [UInt8](repeating: 0, count: randomSize)
      random.withUnsafeMutableBytes { PlatformCrypto.random(into: $0) }
      let marker = "\(path).new-\(Hexadecimal.text(random))"
      let descriptor = try FileSystem.createForOwner(marker, named: path)
      // Between the two calls it looks abandoned, and may have been locked or removed by another maker. On a file
      // system without locks nobody else gets one either, and nothing is ever taken for abandoned.
      let isOurs = flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
      if isOurs, isFile(descriptor, at: marker) { return (marker, descriptor) }
      close(descriptor)
    }
  }

  /// Whether the regular file that is open as `descriptor` is the one at `path`.
  private static func isFile(_ descriptor: Int32, at path: String) -> Bool {
    guard let opened = try? FileStatus(descriptor: descriptor, path), let named = try? FileStatus(path) else {
      return false
    }
    return opened.isRegularFile && opened.isSameFile(as: named)
  }

  /// The marker last, for what stands beside it is found by its name.
  private static func remove(_ marker: String) {
    for suffix in builtSuffixes { unlink(marker + suffix) }
    unlink(marker)
  }
}
