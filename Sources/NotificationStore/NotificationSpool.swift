import EncryptedSQLite
import Foundation

/// Records that wait beside a store which cannot be opened now, sealed under its raw key, durable, and taken in once when a
/// writer opens the store next.
///
/// With a passphrase there is none: a key that is quick to derive from it would be a way around SQLCipher's slow one.
package struct NotificationSpool: Sendable {
  /// Of the file that is written to: the store's path and `.spool`.
  package let path: String
  private let store: String
  /// How long to wait for another process that is at work on it, in seconds.
  private let timeout: TimeInterval

  package init(besideStore store: String, timeout: TimeInterval = 5) {
    self.store = store
    path = store + ".spool"
    self.timeout = timeout
  }

  /// Keeps `entries`, which have an identity, on the medium on return: all, or none.
  ///
  /// - Throws: `spoolUnavailable` with a passphrase; `tooManyWaiting`, `tooLarge`, `busy`, `diskFull` and the like.
  package func append(_ entries: [SpoolEntry], key: EncryptionKey) throws {
    guard key.kind != .passphrase else {
      throw DatabaseError(
        .spoolUnavailable, "with a passphrase nothing can wait beside the store: use a raw key (x'64 digits')")
    }
    guard !entries.isEmpty else { return }
    while let file = try SpoolFile.open(path, creating: true, until: Date() + timeout) {
      if !file.isBegun {
        // An administrator's file would keep the store's owner out.
        if FileSystem.size(store) > 0 { try? FileSystem.takeOwner(of: store, for: path) }
        try file.begin(key)
      }
      if let entryKey = file.isKnown ? file.entryKey(key) : nil,
        try file.append(entries.map(\.identified), key: entryKey)
      {
        return
      }
      // Of a key before a rotation, of another version, or damaged: it waits under a name of its own.
      try setAside(file, as: file.isKnown ? file.fileID : "unknown-\(UUID().uuidString)")
    }
  }

  /// How many entries wait, of whatever key.
  package func count() -> Int {
    ((try? files()) ?? []).reduce(0) { sum, path in
      let file = try? SpoolFile.open(path, creating: false, until: Date() + timeout)
      return sum + ((try? file?.count()) ?? 0)
    }
  }

  /// Hands all entries to `store`, and removes their files when it returns.
  ///
  /// A file with an entry that does not authenticate is kept as `<file>-damaged-…`, after what is whole was handed over.
  ///
  /// - Parameters:
  ///   - keys: that may have sealed them.
  ///   - store: keeps the entries durably, each of them once even if it comes again: a kill may come between its return and
  ///     the removal.
  package func takeIn(_ keys: [EncryptionKey], _ store: ([SpoolEntry]) throws -> Void) throws -> SpoolReport {
    var report = SpoolReport()
    for path in try files() {
      let opened: SpoolFile?
      do {
        opened = try SpoolFile.open(path, creating: false, until: Date() + timeout)
      } catch let error as DatabaseError {
        // No reason to leave the others.
        report.faults.append(error)
        continue
      }
      guard let file = opened else { continue }
      guard file.isBegun else {
        try remove(path)
        continue
      }
      guard file.isKnown, let key = keys.lazy.compactMap({ file.entryKey($0) }).first else {
        report.faults.append(
          DatabaseError(
            .spoolUnreadable,
            "\(path) was sealed under another key than the store's, and stays: give the key from before the last rotation as the "
              + "previous one"))
        continue
      }
      let (entries, isCutOff) = try file.entries(key: key)
      let whole = entries.compactMap { $0 }
      try store(whole)
      report.taken += whole.count
      let damaged = entries.count - whole.count
      if damaged > 0 {
        try setAside(file, as: "damaged-" + file.fileID)
        report.faults.append(
          DatabaseError(
            .spoolUnreadable,
            "\(damaged) of \(entries.count) entries of \(path) were altered or exchanged, and are kept in \(path)-damaged-\(file.fileID)"
          ))
      } else {
        report.cutOff += isCutOff ? 1 : 0
        // Nobody is to append what would be removed with it.
        try withExtendedLifetime(file) { try remove(path) }
      }
    }
    return report
  }

  /// Removes everything that waits, as when a participant withdraws.
  package func wipe() throws {
    // Again, for a writer may give one another name meanwhile.
    for _ in 1...2 {
      for path in try files(withDamaged: true) {
        // Nobody is to be in the middle of taking it in.
        guard let file = try SpoolFile.open(path, creating: false, until: Date() + timeout) else { continue }
        try withExtendedLifetime(file) { try remove(path) }
      }
    }
  }

  /// Whether anything waits. Does not look into the files.
  package var isEmpty: Bool { ((try? files()) ?? []).isEmpty }

  private func setAside(_ file: SpoolFile, as suffix: String) throws {
    let base = file.path.hasPrefix(path + "-") ? path : file.path
    guard rename(file.path, "\(base)-\(suffix)") == 0 else {
      throw FileSystem.error("rename the spool", file.path, errno)
    }
    try FileSystem.syncFolder(of: path)
  }

  private func remove(_ path: String) throws {
    guard unlink(path) == 0 || errno == ENOENT else { throw FileSystem.error("remove the spool", path, errno) }
    try FileSystem.syncFolder(of: path)
  }

  /// The spool's files, oldest keys first, for they were set aside by a later writer.
  private func files(withDamaged: Bool = false) throws -> [String] {
    let name = FileSystem.name(of: path)
    let folder = FileSystem.folder(of: path)
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: folder)
    } catch {
      // A folder that may be entered and not listed.
      if access(path, F_OK) == 0 { return [path] }
      throw FileSystem.error("look for the spool in", folder, access(folder, R_OK) != 0 ? errno : EIO)
    }
    let aside = names.filter { $0.hasPrefix(name + "-") && (withDamaged || !$0.hasPrefix(name + "-damaged-")) }
    return (aside.sorted() + names.filter { $0 == name }).map { folder + "/" + $0 }
  }
}

/// What was found in a store's spool when it was opened.
public struct SpoolReport: Sendable {
  /// Entries that are in the store now.
  public internal(set) var taken = 0
  /// Files with an entry at the end that was cut off before anybody relied on it.
  public internal(set) var cutOff = 0
  /// What could not be taken in, and was kept.
  public internal(set) var faults: [DatabaseError]

  init(faults: [DatabaseError] = []) { self.faults = faults }

  /// Whether something waits still that the keys at hand may open: they are not to be dropped.
  package var isSomethingLeft: Bool { obstacle != nil }

  /// A file that none of the keys opens is no obstacle: it stays as it is, whatever becomes of them.
  private var obstacle: DatabaseError? { faults.first { $0.code != .spoolUnreadable } }

  func requireNothingLeft() throws {
    if let obstacle { throw obstacle }
  }
}

extension DatabaseError.Code {
  /// Nothing can wait beside this store.
  public static let spoolUnavailable = Self(rawValue: "spoolUnavailable")
  /// What waits beside the store cannot be read, and was kept.
  public static let spoolUnreadable = Self(rawValue: "spoolUnreadable")
  /// So many records wait for the store that the newest was not kept.
  public static let tooManyWaiting = Self(rawValue: "tooManyWaiting")
  /// A record is larger than what may wait.
  public static let tooLarge = Self(rawValue: "tooLarge")
}
