import CSQLCipher
import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// Processes that come to a file while another one replaces it.
@Suite struct ReplacementTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path("store.db") }
  private let keys: [String]
  private let first: EncryptionKey
  private let second: EncryptionKey

  init() throws {
    let texts = [Keys.rawText] + ["1", "2"].map { "x'" + String(repeating: $0, count: 64) + "'" }
    (first, second) = (try EncryptionKey(texts[0]), try EncryptionKey(texts[1]))
    let keyFolder = folder
    keys = texts.enumerated().map { keyFolder.write("key\($0)", $1) }
    try SmallStore.make(folder.path("store.db"), first)
  }

  /// Runs `store-helper` with `arguments` while a rotation by a copy, from the first key to the second, is about to rename
  /// its copy; stops it in its wait, lets the rotation finish, calls `between`, and lets it go on.
  private func whileReplacing(
    _ command: String, key: Int, _ rest: [String], between: () throws -> Void = {}
  ) throws -> Program.Result {
    let (isLocked, mayRename) = (Gate(), Gate())
    let (path, old, new) = (path, first, second)
    let finished = Gate()
    let outcome = Locked<Result<RotationReport, any Error>?>(nil)
    Thread.detachNewThread {
      outcome.replace(
        with: Result {
          try Database.rotateEncryptionKey(of: path, from: old, to: new, rewriting: true) {
            if FileManager.default.isLocked(path) {
              isLocked.open()
              mayRename.pass()
            }
            return false
          }
        })
      finished.open()
    }
    isLocked.pass()
    let waiting = try Program.start(
      Program.helper, [command, path, keys[key]] + rest, environment: ["SAYS_WAITING": "1"])
    try #require(waiting.waitForLine("waiting"))
    waiting.signal(SIGSTOP)
    for _ in 0..<1000 { mayRename.open() }
    finished.pass()
    _ = try #require(outcome.snapshot).get()
    try between()
    waiting.signal(SIGCONT)
    return waiting.finish()
  }

  private func add(_ text: String, _ key: EncryptionKey) throws {
    let database = try SmallStore.open(path, key, creating: false)
    try database.write { try $0.run("INSERT INTO item (text) VALUES (?)", .text(text)) }
    try database.close()
  }

  private func expect(_ texts: [String], _ key: EncryptionKey) throws {
    #expect(try SmallStore.texts(path, key) == texts)
    #expect(folder.names.filter { $0.hasPrefix("store.db") } == ["store.db"])
  }

  @Test(
    "A second replacement that waited opens the file that is there now, and finds its key changed",
    .timeLimit(.minutes(2)), arguments: ["rotate by a copy", "rotate to a salted key", "restore"])
  func secondReplacement(_ kind: String) throws {
    let backup = folder.path("backup.db")
    _ = try Database.backUp(path, key: first, to: backup)
    let salted = folder.write("salted", Keys.saltedText)
    let (command, rest) =
      switch kind {
      case "restore": ("restore", [backup])
      case "rotate by a copy": ("rotate", [keys[2], "--rewrite"])
      default: ("rotate", [salted])
      }
    let result = try whileReplacing(command, key: 0, rest) { try add("between", second) }
    #expect(result.lines.last == "wrongKey", "\(result.output)")
    try expect(["one", "two", "between"], second)
  }

  @Test("A writer that waited writes to the file that is there now", .timeLimit(.minutes(2)))
  func writer() throws {
    let result = try whileReplacing("add", key: 1, ["waited"]) { try add("between", second) }
    #expect(result.lines.last == "ok", "\(result.output)")
    try expect(["one", "two", "between", "waited"], second)
  }

  @Test("A rotation in place that waited rotates the file that is there now", .timeLimit(.minutes(2)))
  func rekey() throws {
    let result = try whileReplacing("rotate", key: 1, [keys[2]]) { try add("between", second) }
    #expect(result.lines.suffix(2) == ["rotated", "ok"], "\(result.output)")
    try expect(["one", "two", "between"], try EncryptionKey("x'" + String(repeating: "2", count: 64) + "'"))
  }

  @Test("A writer under the key from before the replacement is refused, and changes nothing", .timeLimit(.minutes(2)))
  func writerUnderTheOldKey() throws {
    let result = try whileReplacing("add", key: 0, ["lost?"])
    #expect(result.lines.last == "wrongKey", "\(result.output)")
    try expect(["one", "two"], second)
  }

  @Test(
    "A connection whose file was replaced by other means touches neither WAL nor journal of the new one",
    arguments: [true, false])
  func replacedByOtherMeans(_ hasWAL: Bool) throws {
    let stale = try Connection.open(path, key: first)
    if !hasWAL { try stale.execute("PRAGMA journal_mode = DELETE") }
    try stale.writeTransaction { try stale.run("INSERT INTO item (text) VALUES ('old')") }
    let other = folder.path("other.db")
    try SmallStore.make(other, first, ["new"])
    #expect(rename(other, path) == 0)
    if hasWAL {
      for suffix in ["-wal", "-shm"] { #expect(unlink(path + suffix) == 0) }
    }
    let current = try Connection.open(path, key: first)
    try current.writeTransaction { try current.run("INSERT INTO item (text) VALUES ('in the WAL')") }
    let before = folder.fingerprints
    #expect(Keys.error { try stale.writeTransaction { try stale.run("DELETE FROM item") } } == .fileReplaced)
    #expect(Keys.error { try stale.readTransaction { _ = try SmallStore.texts(stale) } } == .fileReplaced)
    try stale.close()
    #expect(folder.fingerprints == before)
    try current.close()
    try expect(["new", "in the WAL"], first)
  }

  @Test("A replacement ends when another file is put at the path before its rename")
  func exchangedDuringAReplacement() throws {
    let other = folder.path("other.db")
    let third = try EncryptionKey("x'" + String(repeating: "2", count: 64) + "'")
    try SmallStore.make(other, third, ["theirs"])
    let path = path
    let error = Keys.error {
      _ = try Database.rotateEncryptionKey(of: path, from: first, to: second, rewriting: true) {
        if FileManager.default.isLocked(path) { _ = rename(other, path) }
        return false
      }
    }
    #expect(error == .fileReplaced)
    try expect(["theirs"], third)
  }

  // MARK: The lock

  @Test("One holder has the lock on a path; its file goes with it, and what a killed holder left is free")
  func pathLock() throws {
    let lock = try PathLock(path, timeout: 0)
    #expect(Keys.error { _ = try PathLock(path, timeout: 0.05) } == .busy)
    lock.release()
    #expect(!folder.names.contains("store.db.lock"))
    #expect(FileManager.default.createFile(atPath: path + ".lock", contents: nil))
    try PathLock(path, timeout: 0).release()
    #expect(!folder.names.contains("store.db.lock"))
  }

  @Test("Something else at the lock's path is left alone, and named")
  func notALock() throws {
    let victim = folder.write("victim", "content")
    for make in [
      { symlink(victim, self.path + ".lock") }, { link(victim, self.path + ".lock") },
      { mkdir(self.path + ".lock", 0o700) },
    ] {
      #expect(make() == 0)
      let error = Keys.error { _ = try PathLock(path, timeout: 0) }
      #expect(error == .notAFile || error == .inputOutput, "\(String(describing: error))")
      #expect(remove(path + ".lock") == 0)
    }
    #expect(folder.contents["victim"] == Data("content".utf8))
  }

  @Test("A wait gives notice once, and ends when the program is interrupted") func waiting() throws {
    let policy = LockWait.policy.snapshot
    defer { LockWait.policy.replace(with: policy) }
    let holder = RawSQLite(path, key: first)
    #expect(holder.execute("BEGIN IMMEDIATE; DELETE FROM item") == SQLITE_OK)
    let notices = Locked(0)
    LockWait.policy.withLock {
      $0.noticeDelay = 0
      $0.notice = { _ in notices.withLock { $0 += 1 } }
      $0.isInterrupted = { notices.snapshot > 0 }
    }
    #expect(Keys.error { try add("waits", first) } == .cancelled)
    #expect(notices.snapshot == 1)
    holder.execute("ROLLBACK")
  }
}

extension FileManager {
  /// Whether a connection has the exclusive lock on the file at `path`: an empty copy is being filled next to it.
  fileprivate func isLocked(_ path: String) -> Bool {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    let name = URL(fileURLWithPath: path).lastPathComponent
    return ((try? contentsOfDirectory(atPath: folder)) ?? []).contains {
      $0.hasPrefix(name + ".new-") && $0.hasSuffix("-db")
    }
  }
}
