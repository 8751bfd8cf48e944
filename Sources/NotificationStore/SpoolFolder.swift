import EncryptedSQLite
import Foundation

/// The open folder of a spool. Names are taken relative to its descriptor, so that a folder that another process exchanges
/// for a link leads nowhere else.
final class SpoolFolder {
  enum Contents {
    case bytes([UInt8])
    /// No regular file, or one that is larger than this program writes.
    case notOurs
    case absent
  }

  /// Of files that were altered, in the spool's folder.
  static let damagedName = "damaged"
  /// A name that is not final yet begins so. No other file's does that counts.
  private static let temporaryPrefix = "."
  /// In seconds: what a killed process left under a temporary name is removed after that time.
  private static let abandonedAge: TimeInterval = 3600

  let path: String
  private let descriptor: Int32

  /// - Returns: nil when there is none.
  /// - Throws: `notAFile` when something else is at the path, `spoolUnreadable` when it is a spool of the old form.
  static func open(_ path: String) throws -> SpoolFolder? {
    let descriptor = Foundation.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    if descriptor >= 0 { return SpoolFolder(path, descriptor) }
    let reason = errno
    if reason == ENOENT { return nil }
    guard reason == ENOTDIR || reason == ELOOP else { throw FileSystem.error("open the spool", path, reason) }
    if isOldForm(path) {
      throw DatabaseError(
        .spoolUnreadable,
        "\(path) is a spool in the form of an earlier version, and stays: while it is there no push can wait beside the "
          + "store; import it with that version, or move it away")
    }
    throw DatabaseError(.notAFile, "the spool \(path) is no folder: move it away")
  }

  /// Opens the folder, or makes it: for its owner only, who is the store's.
  ///
  /// - Parameter protect: is called with the path of a new folder before there is anything in it.
  static func make(_ path: String, owner: FileStatus?, protect: (String) -> Void) throws -> SpoolFolder {
    if let folder = try open(path) { return folder }
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw FileSystem.error("make the spool", path, errno) }
    guard let folder = try open(path) else { throw FileSystem.error("make the spool", path, ENOENT) }
    // Whatever the umask.
    fchmod(folder.descriptor, 0o700)
    folder.give(folder.descriptor, to: owner)
    protect(path)
    return folder
  }

  private init(_ path: String, _ descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Waits for the lock that importing and wiping take.
  ///
  /// - Parameter timeout: in seconds; nil means the process's own.
  /// - Returns: false when the folder was removed in the meantime.
  func lock(timeout: Double?) throws -> Bool {
    try FileSystem.lock(descriptor, path, "the spool \(path)", timeout: timeout)
    return try FileStatus(descriptor: descriptor, path).isSameFile(as: FileStatus(path))
  }

  // MARK: Reading

  /// The names of the files that wait, in no order.
  func names() throws -> [String] {
    try allNames().filter { !$0.hasPrefix(Self.temporaryPrefix) && $0 != Self.damagedName }
  }

  private func allNames() throws -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: path)
    } catch {
      throw FileSystem.error("read the spool", path, access(path, R_OK | X_OK) != 0 ? errno : EIO)
    }
  }

  /// How many files wait, and their bytes.
  func usage() throws -> (count: Int, size: Int) {
    try names().reduce(into: (0, 0)) { usage, name in
      guard let status = try status(name) else { return }
      usage.0 += 1
      usage.1 += Int(status.st_size)
    }
  }

  func contents(of name: String) throws -> Contents {
    guard let before = try status(name) else { return .absent }
    // Opening a pipe or a device could do something.
    guard before.st_mode & S_IFMT == S_IFREG else { return .notOurs }
    let file = openat(descriptor, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
    guard file >= 0 else {
      if errno == ENOENT { return .absent }
      throw FileSystem.error("read", path + "/" + name, errno)
    }
    defer { close(file) }
    let status = try FileStatus(descriptor: file, path + "/" + name)
    guard status.isRegularFile, status.size <= SpoolFile.maximumSize else { return .notOurs }
    var bytes = [UInt8](repeating: 0, count: status.size)
    var filled = 0
    while filled < bytes.count {
      let received = bytes.withUnsafeMutableBytes {
        Foundation.read(file, $0.baseAddress.map { $0 + filled }, $0.count - filled)
      }
      if received == 0 { break }
      if received < 0 {
        if errno == EINTR { continue }
        throw FileSystem.error("read", path + "/" + name, errno)
      }
      filled += received
    }
    return .bytes(Array(bytes[..<filled]))
  }

  /// How many files are in `damaged/`.
  func damagedCount() -> Int {
    ((try? FileManager.default.contentsOfDirectory(atPath: path + "/" + Self.damagedName)) ?? []).count
  }

  /// nil when there is no such file.
  private func status(_ name: String) throws -> stat? {
    var status = stat()
    guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) != 0 else { return status }
    if errno == ENOENT { return nil }
    throw FileSystem.error("look at", path + "/" + name, errno)
  }

  // MARK: Writing

  /// Writes `bytes` to a new file, whose content is on the medium on return; its name is when ``sync()`` has returned.
  ///
  /// - Parameter protect: is called with the file's path before it has content.
  /// - Returns: false when the name is taken.
  func add(_ bytes: [UInt8], as name: String, owner: FileStatus?, protect: (String) -> Void) throws -> Bool {
    let temporary = Self.temporaryPrefix + name
    let temporaryPath = path + "/" + temporary
    let file = openat(descriptor, temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw FileSystem.error("write to the spool", path, errno) }
    defer { close(file) }
    do {
      guard fchmod(file, 0o600) == 0 else { throw FileSystem.error("write to the spool", path, errno) }
      give(file, to: owner)
      protect(temporaryPath)
      try bytes.withUnsafeBytes { try FileSystem.write($0, to: file, temporaryPath) }
      try FileSystem.sync(file, temporaryPath)
      if FileSystem.renameExclusively(temporary, in: descriptor, to: name, in: descriptor) == 0 { return true }
      let reason = errno
      guard reason == EEXIST else { throw FileSystem.error("write to the spool", path, reason) }
      unlinkat(descriptor, temporary, 0)
      return false
    } catch {
      unlinkat(descriptor, temporary, 0)
      throw error
    }
  }

  /// Makes the names in the folder survive a power cut.
  func sync() throws { try FileSystem.sync(descriptor, path) }

  /// Makes the folder itself survive one.
  func syncName() throws { try FileSystem.syncFolder(of: path) }

  func remove(_ name: String) throws {
    guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
      throw FileSystem.error("remove", path + "/" + name, errno)
    }
  }

  /// Moves files to `damaged/`, where they replace none. The rest is moved also where one cannot be.
  func setDamaged(_ names: [String]) throws {
    guard mkdirat(descriptor, Self.damagedName, 0o700) == 0 || errno == EEXIST,
      case let damaged = openat(descriptor, Self.damagedName, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0),
      damaged >= 0
    else { throw FileSystem.error("make", path + "/" + Self.damagedName, errno) }
    defer { close(damaged) }
    var failure: DatabaseError?
    for name in names {
      var new = name
      while FileSystem.renameExclusively(name, in: descriptor, to: new, in: damaged) != 0 {
        guard errno == EEXIST else {
          failure = FileSystem.error("move", path + "/" + name, errno)
          break
        }
        new = name + "-" + SpoolFile.randomName().prefix(8)
      }
    }
    try FileSystem.sync(damaged, path)
    if let failure { throw failure }
  }

  /// Removes what killed processes left under temporary names. A process that is only slow finds its file gone, and
  /// reports that nothing was kept.
  func removeAbandoned() throws {
    let oldest = Date().timeIntervalSince1970 - Self.abandonedAge
    for name in try allNames() where name.hasPrefix(Self.temporaryPrefix) && SpoolFile.isName(name.dropFirst()) {
      if let status = try status(name), TimeInterval(status.modified.tv_sec) < oldest { try remove(name) }
    }
  }

  /// Removes everything, `damaged/` and temporary names too, and the folder.
  func removeAll() throws {
    for name in try allNames() where unlinkat(descriptor, name, 0) != 0 && errno != ENOENT {
      let reason = errno
      guard let status = try status(name) else { continue }
      guard status.st_mode & S_IFMT == S_IFDIR,
        (try? FileManager.default.removeItem(atPath: path + "/" + name)) != nil
      else { throw FileSystem.error("remove", path + "/" + name, reason) }
    }
    try sync()
    removeIfEmpty()
    try syncName()
  }

  /// Removes the folder unless there is something in it.
  func removeIfEmpty() { rmdir(path) }

  /// Gives an open file the owner and group of the store. An administrator's file would keep the store's owner out.
  private func give(_ file: Int32, to owner: FileStatus?) {
    guard let owner, owner.owner != geteuid() || owner.group != getegid() else { return }
    fchown(file, owner.owner, owner.group)
  }

  private static func isOldForm(_ path: String) -> Bool {
    guard (try? FileStatus(path))?.isRegularFile == true,
      case let file = Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), file >= 0
    else { return false }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 8)
    let count = bytes.withUnsafeMutableBytes { Foundation.read(file, $0.baseAddress, $0.count) }
    return SpoolFile.isOldForm(Array(bytes.prefix(max(0, count))))
  }
}
