import EncryptedSQLite
import Foundation

/// Pushes that wait next to a store which cannot be opened now: one encrypted file for each, durable, imported once when a
/// writer opens the store next.
///
/// With a passphrase there is none: a key that is quick to derive from it would be a way around SQLCipher's slow one.
package struct NotificationSpool: Sendable {
  /// A store that stays unavailable for so long will not open by itself.
  static let maximumCount = 10_000
  /// Of all files together, in bytes.
  static let maximumSize = 16 << 20
  /// How many files are imported by one commit.
  static let filesInCommit = 500
  /// A process that makes the folder may find it removed by one that imports, but not time and again.
  private static let attempts = 5

  private static let writer = SpoolFile.randomName()
  private static let sequence = Locked<Int64>(0)

  /// Of the folder: the store's path and `.spool`.
  package let path: String
  private let store: String
  /// How long to wait for another process that imports or wipes, in seconds; nil means the process's own.
  private let timeout: Double?
  private let newName: @Sendable () -> String

  package init(besideStore store: String, timeout: Double? = nil) {
    self.init(besideStore: store, timeout: timeout, newName: SpoolFile.randomName)
  }

  init(besideStore store: String, timeout: Double? = nil, newName: @escaping @Sendable () -> String) {
    self.store = store
    self.timeout = timeout
    self.newName = newName
    path = store + ".spool"
  }

  // MARK: Writing

  /// Keeps pushes, each in a file of its own: the first of them, in their order, as many as can be.
  ///
  /// - Parameters:
  ///   - pushes: the records of each push, and its receipt.
  ///   - protect: is called with the path of each new folder or file while that is empty.
  /// - Returns: how many of them are on the medium. Called again with the rest, it throws the reason.
  /// - Throws: where not even the first is: `spoolUnavailable` with a passphrase, `spoolUnreadable` where a spool of the old
  ///   form is, `tooManyWaiting`, `tooLarge`, `diskFull` and the like. Nothing was kept then.
  package func append(
    _ pushes: [[SpoolEntry]], key: EncryptionKey, protect: (String) -> Void = { _ in }
  ) throws -> Int {
    guard key.kind != .passphrase else {
      throw DatabaseError(
        .spoolUnavailable, "with a passphrase no push can wait in the spool: use a raw key (x'64 digits')")
    }
    guard !pushes.isEmpty else { return 0 }
    let pushes = pushes.map { entries in
      let number = Self.sequence.withLock { last in
        last += 1
        return last
      }
      return SpooledPush(entries.map(\.identified), writer: Self.writer, sequence: number)
    }
    var attempt = 1
    while true {
      do {
        return try appendOnce(pushes, key, protect)
      } catch let error as DatabaseError where error.code == .notFound && attempt < Self.attempts {
        attempt += 1
      }
    }
  }

  private func appendOnce(_ pushes: [SpooledPush], _ key: EncryptionKey, _ protect: (String) -> Void) throws -> Int {
    let owner = try FileStatus(store)
    let folder = try SpoolFolder.make(path, owner: owner, protect: protect)
    var (count, size) = try folder.usage()
    // No process has a file here before the folder's own name is on the medium.
    if count == 0 { try folder.syncName() }
    var added: [String] = []
    func add(_ push: SpooledPush) throws {
      while true {
        let name = newName()
        let bytes = try SpoolFile.encrypted(push, name: name, key: key)
        guard count < Self.maximumCount, size + bytes.count <= Self.maximumSize else {
          throw DatabaseError(
            .tooManyWaiting,
            "the spool \(path) is full (\(count) pushes, \(size) bytes): see why the store does not open")
        }
        guard try folder.add(bytes, as: name, owner: owner, protect: protect) else { continue }
        added.append(name)
        count += 1
        size += bytes.count
        return
      }
    }
    do {
      for push in pushes { try add(push) }
    } catch {
      if added.isEmpty {
        folder.removeIfEmpty()
        throw error
      }
    }
    do {
      try folder.sync()
    } catch {
      // The caller keeps them: here they would be a second time.
      for name in added { try? folder.remove(name) }
      throw error
    }
    return added.count
  }

  // MARK: Looking

  /// How many pushes wait, of whatever key.
  package func count() -> Int { (try? SpoolFolder.open(path)?.names().count) ?? 0 }

  /// Whether anything waits, or is in the way. Does not look into the files.
  package var isEmpty: Bool {
    do { return try FileStatus(path) == nil } catch { return false }
  }

  /// What an import would find now. Changes nothing.
  package func inspect(_ keys: [EncryptionKey]) -> SpoolReport {
    do {
      guard let folder = try SpoolFolder.open(path) else { return SpoolReport() }
      let found = try SpoolFindings(folder, keys)
      return report(found, damaged: found.failed.count + folder.damagedCount())
    } catch {
      return SpoolReport(faults: [DatabaseError(spool: error)])
    }
  }

  private func report(_ found: SpoolFindings, damaged: Int) -> SpoolReport {
    var report = SpoolReport(faults: found.errors)
    report.waiting = found.waiting.count + found.foreign + found.later
    report.damaged = damaged
    func add(_ count: Int, _ code: DatabaseError.Code, _ what: String) {
      guard count > 0 else { return }
      let files = count == 1 ? "1 file of the spool \(path) is" : "\(count) files of the spool \(path) are"
      report.faults.append(DatabaseError(code, "\(files) \(what)"))
    }
    add(
      found.foreign, .spoolUnreadable,
      "encrypted under another key, and kept: give the key from before the last rotation as the previous one")
    add(found.later, .spoolUnreadable, "of a later version of this program, and kept: use that version")
    add(
      damaged, .spoolAltered,
      "altered, exchanged, refused by the store or not the spool's own, and kept in its folder \(SpoolFolder.damagedName): look who writes there"
    )
    return report
  }

  // MARK: Importing

  /// Hands the pushes to `store`, in the order in which they arrived, and removes the files of those that it has stored. A
  /// file that does not authenticate goes to `damaged/`.
  ///
  /// - Parameters:
  ///   - keys: that may have encrypted them.
  ///   - store: stores the pushes durably, all or none, each of them once even if it arrives again: a kill may come between
  ///     its return and the removal.
  package func takeIn(_ keys: [EncryptionKey], _ store: ([[SpoolEntry]]) throws -> Void) -> SpoolReport {
    do {
      while let folder = try SpoolFolder.open(path) {
        guard try folder.lock(timeout: timeout) else { continue }
        return try takeIn(folder, keys, store)
      }
      return SpoolReport()
    } catch {
      return SpoolReport(faults: [DatabaseError(spool: error)])
    }
  }

  private func takeIn(
    _ folder: SpoolFolder, _ keys: [EncryptionKey], _ store: ([[SpoolEntry]]) throws -> Void
  ) throws -> SpoolReport {
    try folder.removeAbandoned()
    var found = try SpoolFindings(folder, keys)
    var taken = 0
    /// - Throws: what keeps the store from being used now.
    func importFiles(_ names: ArraySlice<String>) throws {
      let pushes = try names.compactMap { name in try folder.push(name, keys).map { (name, $0.entries) } }
      do {
        try store(pushes.map(\.1))
      } catch let error as DatabaseError where error.code == .constraint {
        // The store refuses one of them, which must not keep the others back.
        guard names.count > 1 else { return found.failed += names }
        for index in names.indices { try importFiles(names[index...index]) }
        return
      }
      for (name, _) in pushes { try folder.remove(name) }
      taken += pushes.count
    }
    do {
      while !found.waiting.isEmpty {
        let names = found.waiting.prefix(Self.filesInCommit)
        try importFiles(names)
        found.waiting.removeFirst(names.count)
      }
    } catch {
      found.add(error)
    }
    do {
      if !found.failed.isEmpty { try folder.setDamaged(found.failed) }
      if taken > 0 || !found.failed.isEmpty { try folder.sync() }
    } catch {
      found.add(error)
    }
    folder.removeIfEmpty()
    var report = report(found, damaged: folder.damagedCount())
    report.taken = taken
    return report
  }

  // MARK: Removing

  /// Removes everything that waits, as when a participant withdraws, `damaged/` too.
  ///
  /// - Throws: what keeps it, such as `spoolUnreadable`: a spool of the old form is not removed.
  package func wipe() throws {
    while let folder = try SpoolFolder.open(path) {
      // No process is to be in the middle of importing it.
      guard try folder.lock(timeout: timeout) else { continue }
      return try folder.removeAll()
    }
  }

  /// Gives what stays after an import to the spool of the store at `store`, which has none.
  package func move(toStore store: String) throws {
    guard !isEmpty else { return }
    let new = store + ".spool"
    // One in which nothing waits.
    rmdir(new)
    guard FileSystem.renameExclusively(path, in: AT_FDCWD, to: new, in: AT_FDCWD) == 0 else {
      throw FileSystem.error("move \(path) to", new, errno)
    }
    try FileSystem.syncFolder(of: new)
    try FileSystem.syncFolder(of: path)
  }
}
