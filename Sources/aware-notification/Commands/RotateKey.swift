import CCommandLine
import EncryptedSQLite
import Foundation
import NotificationStore

enum RotateKey: Command {
  static let name = "rotate-key"
  static let summary = "give a store another key"
  static let usage =
    "--db PATH [--key-file OLD | --key-fd N] --new-key-file NEW [--previous-key-file FILE] [--generate] [--rewrite] "
    + "[--json]"
  static let details = """
    Encrypts every page anew under the key in NEW. With --generate that key is made: NEW appears when the store is under
    it, and until then the key is in NEW.staged. Run again after an interruption or a failure, the command finishes the
    rotation, or says that it is done; keep both keys until it has said so. Other programs may read meanwhile, and get
    the store back when they open it under the new key.

    --rewrite makes a compacted copy under a new salt and puts it in the file's place. A new key with a salt (96 digits)
    does so anyway. Nobody else may have the store open then.
    """
  static let options =
    Option.storeWithSpool + [
      Option(name: "new-key-file", value: "NEW", file: .secret, stream: .input, help: "the new key's file"),
      Option(name: "generate", help: "make a new raw key, and NEW for it"),
      Option(name: "rewrite", help: "copy, compact and change the salt"), .json,
    ]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let path = try arguments.required("db")
    let newKeyFile = NewKeyFile(path: try arguments.required("new-key-file"), isGenerated: arguments.has("generate"))
    guard !newKeyFile.isGenerated || newKeyFile.path != "-" else {
      throw UsageError("--generate makes a file, not standard output: a file of that name is ./-")
    }
    let old = try arguments.key()
    let previous = try arguments.previousKey()
    command_line_catch_interrupts()
    // A second run at once would stage another key for the store that this one is about to rotate.
    let lock = try newKeyFile.path == "-" ? nil : PathLock(newKeyFile.path, timeout: nil)
    defer { lock?.release() }
    let given = try newKeyFile.isGenerated ? nil : arguments.key(inFileOf: "new-key-file")
    let new = try given ?? newKeyFile.key(for: path, old)
    let progress = Progress(of: path)
    let report: RotationReport
    do {
      defer { progress.end() }
      report = try NotificationStore.rotateEncryptionKey(
        of: path, from: old, to: new, previous: previous, rewriting: arguments.has("rewrite"),
        isInterrupted: { command_line_interrupt() != 0 }, reportFault: { Output.error($0.message) })
    } catch {
      newKeyFile.tellOfStagedKey()
      throw error
    }
    try newKeyFile.confirm(new)
    try arguments.has("json") ? Output.json(object(report)) : Output.write(text(report))
    return 0
  }

  private static func object(_ report: RotationReport) -> [String: Any] {
    [
      "path": report.path, "method": report.method.rawValue, "wasDone": report.wasDone,
      "oldKey": word(report.oldKey), "newKey": word(report.newKey), "pages": report.pages,
      "fileFormat": report.generation, "logFoldedIn": report.isLogFoldedIn,
      "provingSeconds": report.provingSeconds, "rotatingSeconds": report.rotatingSeconds,
    ]
  }

  private static func text(_ report: RotationReport) -> String {
    let what =
      report.wasDone
      ? "nothing to do: \(report.path) is under the new key already"
      : "rotated: \(report.path) went from a \(word(report.oldKey)) to a \(word(report.newKey)), "
        + (report.method == .inPlace ? "in place" : "by a compacted copy")
    let log =
      report.isLogFoldedIn
      ? ""
      : "Somebody reads from the write-ahead log: until that ends, a copy of the main file alone opens under the old key.\n"
    return "\(what.escapingControls)\n\(report.pages) pages, file format \(report.generation)\n\(log)"
  }

  private static func word(_ kind: EncryptionKey.Kind) -> String {
    switch kind {
    case .passphrase: "passphrase"
    case .rawKey: "raw key"
    case .rawKeyWithSalt: "raw key with salt"
    }
  }
}

/// The file of a rotation's new key. One that is made stands at a staged name until the store is under its key, so that
/// another run knows it for its own.
private struct NewKeyFile {
  let path: String
  let isGenerated: Bool
  private var staged: FileKeyStore { FileKeyStore(path: path) }

  init(path: String, isGenerated: Bool) {
    self.path = path
    self.isGenerated = isGenerated
  }

  /// The key that is made here, or was by an earlier run.
  ///
  /// - Throws: `alreadyExists` when NEW is another one's.
  func key(for database: String, _ old: EncryptionKey) throws -> EncryptionKey {
    if let key = try existing() {
      // An earlier run has come to its end, or to the last step before.
      guard (try? Connection.open(database, key: key, options: .init(access: .readOnly)).close()) != nil else {
        throw DatabaseError(
          .alreadyExists, "\(path) exists and is not this store's key: choose another name for the key to be made")
      }
      return key
    }
    if let key = try staged.readStaged() { return key }
    // A slip in a name or a key shows before a key is made for it.
    let connection = try Connection.open(database, key: old, options: .init(access: .readOnly))
    let key = EncryptionKey.random(salted: connection.cipher.hasReadableHeader)
    try connection.close()
    do {
      try staged.stage(key)
    } catch let error as DatabaseError where error.code == .alreadyExists {
      // Another run was faster: the key is its.
      guard let key = try staged.readStaged() ?? existing() else { throw error }
      return key
    }
    return key
  }

  /// The store is under `key`: its file gets its name.
  func confirm(_ key: EncryptionKey) throws {
    // Another run may have done it, or be doing it.
    guard isGenerated, try existing() != key else { return staged.forget(key) }
    guard try staged.readStaged() == key || staged.stageAgain(key) else { return }
    // Not over a file that appeared meanwhile.
    guard link(staged.stagedPath, path) == 0 || errno == ENOENT || errno == EEXIST else {
      throw FileSystem.error("make", path, errno)
    }
    guard try existing() == key else {
      throw DatabaseError(
        .alreadyExists, "the store's new key is in \(staged.stagedPath), for another file appeared at \(path) meanwhile"
      )
    }
    try FileSystem.syncFolder(of: path)
    staged.forget(key)
  }

  /// After a failure the staged key stays, also one that was made by this run: another run may have taken it up, and the
  /// store be under it.
  func tellOfStagedKey() {
    guard isGenerated, (try? staged.readStaged()) != nil else { return }
    Output.error("the new key waits in \(staged.stagedPath) for the next run")
  }

  private func existing() throws -> EncryptionKey? {
    do {
      return try KeyFile.read(path)
    } catch let error as DatabaseError where error.code == .keyNotFound {
      return nil
    }
  }
}

extension FileKeyStore {
  /// Removes the staged key if it is `key`, which has its name by now.
  fileprivate func forget(_ key: EncryptionKey) {
    if (try? readStaged()) == key { try? discard() }
  }

  /// Another run has taken the staged key away: it stands under its name, or is staged anew.
  fileprivate func stageAgain(_ key: EncryptionKey) throws -> Bool {
    if (try? KeyFile.read(path)) == key { return false }
    try stage(key)
    return true
  }
}

/// Shows on a terminal how far a rotation is, by the size of what it writes beside the store.
private final class Progress: Sendable {
  private let line = ProgressLine()
  private let isOver = Locked(false)

  init(of path: String) {
    guard isatty(STDERR_FILENO) == 1 else { return }
    let expected = max(1, FileSystem.size(path))
    Thread.detachNewThread {
      while !self.isOver.snapshot {
        usleep(200_000)
        let written = ["-wal", "-journal"].reduce(0) { $0 + FileSystem.size(path + $1) }
        if written == 0 {
          self.line.show("checking the store")
        } else {
          self.line.show("encrypting", Double(written) / Double(expected))
        }
      }
    }
  }

  func end() {
    isOver.replace(with: true)
    line.end()
  }
}
