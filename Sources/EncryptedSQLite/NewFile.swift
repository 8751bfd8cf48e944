import Foundation

/// Makes a file aside and gives it its name only when it is complete.
///
/// The name aside is `<path>.new-<process>-<random>`. `link` gives the final name, which it refuses when somebody else
/// was first: then that one's file stands, and ours is removed.
enum NewFile {
  /// Calls `build` with the path of a new file of no bytes (mode 0600), then publishes that file at `path`.
  ///
  /// - Returns: false when another process had published its own file meanwhile.
  /// - Throws: what `build` throws, and the errors of ``FileSystem``; nothing is left over.
  static func publish(_ path: String, build: (String) throws -> Void) throws -> Bool {
    removeAbandoned(beside: path)
    let aside = try makeEmpty(beside: path)
    defer { remove(aside) }
    for log in ["-wal", "-journal"] where FileSystem.size(path + log) > 0 {
      // SQLite would fold it into the new file, and ruin that.
      throw DatabaseError(
        .alreadyExists, "\(path + log) is left of a store that stood here: move it away, or put its store back")
    }
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

  /// Removes what killed processes left beside `path`: files aside whose maker is gone.
  static func removeAbandoned(beside path: String) {
    let folder = FileSystem.folder(of: path)
    let prefix = path.split(separator: "/").last.map { $0 + ".new-" } ?? ""
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where name.hasPrefix(prefix) {
      guard let maker = name.dropFirst(prefix.count).split(separator: "-").first.flatMap({ Int32($0) }),
        kill(maker, 0) != 0, errno == ESRCH
      else { continue }
      unlink(folder + "/" + name)
    }
  }

  private static func makeEmpty(beside path: String) throws -> String {
    var random: UInt64 = 0
    withUnsafeMutableBytes(of: &random) { PlatformCrypto.random(into: $0) }
    let aside = "\(path).new-\(getpid())-\(String(random, radix: 16))"
    close(try FileSystem.createForOwner(aside, named: path))
    return aside
  }

  private static func remove(_ aside: String) {
    for suffix in ["", "-journal", "-wal", "-shm"] { unlink(aside + suffix) }
  }
}
