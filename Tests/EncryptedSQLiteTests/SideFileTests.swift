import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// What is next to a database under the names of SQLite's own files, and who may write it.
@Suite struct SideFileTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path("store.db") }
  private let keys = TemporaryFolder()
  private let keyFile: String

  init() throws {
    keyFile = keys.write("key", Keys.rawText)
    try SmallStore.make(folder.path("store.db"), try Keys.raw)
  }

  private func open(_ access: Connection.Access) throws {
    try Connection.open(path, key: try Keys.raw, options: .init(access: access)).close()
  }

  @Test(arguments: ["-wal", "-shm", "-journal"]) func aLinkIsRefused(_ suffix: String) throws {
    let victim = folder.write("victim", String(repeating: "content", count: 1000))
    let content = folder.contents["victim"]
    for access in [Connection.Access.readOnly, .readWrite] {
      #expect(symlink(victim, path + suffix) == 0)
      #expect(Keys.error { try open(access) } == .notAFile)
      #expect(unlink(path + suffix) == 0)
      // One that leads nowhere yet: SQLite would make the file.
      #expect(symlink(folder.path("absent"), path + suffix) == 0)
      #expect(Keys.error { try open(access) } == .notAFile)
      #expect(unlink(path + suffix) == 0)
      #expect(link(victim, path + suffix) == 0)
      #expect(Keys.error { try open(access) } == .otherNames)
      #expect(unlink(path + suffix) == 0)
      #expect(mkfifo(path + suffix, 0o600) == 0)
      #expect(Keys.error { try open(access) } == .notAFile)
      #expect(unlink(path + suffix) == 0)
    }
    #expect(folder.contents["victim"] == content)
    #expect(folder.names == ["store.db", "victim"])
    try open(.readWrite)
  }

  /// A process that is not root, whose folder and files belong to it.
  private func asNobody(_ command: String, _ arguments: String...) throws -> Program.Result {
    try Program.run(Program.helper, [command, path, keyFile] + arguments, environment: ["AS_NOBODY": "1"])
  }

  private func giveToNobody() {
    for name in [folder.path] + folder.names.map(folder.path) { #expect(chown(name, 65534, 65534) == 0) }
  }

  @Test(.enabled(if: geteuid() == 0), arguments: [0o400, 0o444])
  func aReaderWithoutWritePermissionLeavesNothingBehind(_ mode: Int) throws {
    giveToNobody()
    #expect(chmod(path, mode_t(mode)) == 0)
    let before = folder.fingerprints
    for _ in 1...2 { #expect(try asNobody("texts").lines == ["one", "two", "ok"]) }
    #expect(folder.fingerprints == before && folder.names == ["store.db"])
    #expect(chmod(path, 0o600) == 0)
    #expect(try asNobody("add", "three").lines == ["ok"])
    #expect(try asNobody("texts").lines == ["one", "two", "three", "ok"])
  }

  /// As an owner's file that its group may read.
  @Test(.enabled(if: geteuid() == 0)) func aReaderOfAnotherUserLeavesNothingBehind() throws {
    giveToNobody()
    #expect(chown(path, 1, 65534) == 0 && chmod(path, 0o640) == 0)
    for _ in 1...2 { #expect(try asNobody("texts").lines == ["one", "two", "ok"]) }
    #expect(folder.names == ["store.db"])
    #expect(try asNobody("add", "three").lines == ["readOnly"])
  }

  @Test(.enabled(if: geteuid() == 0)) func commitsInAWALAreForThoseWhoMayWrite() throws {
    let holder = try Program.start(
      Program.helper, ["keep", path, keyFile, "INSERT INTO item (text) VALUES ('in the WAL')"])
    #expect(holder.waitForLine("keeping"))
    holder.kill()
    _ = holder.finish()
    #expect(unlink(path + "-shm") == 0)
    giveToNobody()
    #expect(chmod(path, 0o400) == 0)
    let before = folder.fingerprints
    let result = try asNobody("texts")
    #expect(result.lines == ["permissionDenied"] && folder.fingerprints == before)
    #expect(folder.names == ["store.db", "store.db-wal"])
    #expect(chmod(path, 0o600) == 0)
    #expect(try asNobody("texts").lines == ["one", "two", "in the WAL", "ok"])
  }

  /// As an earlier version's readers left them.
  @Test(.enabled(if: geteuid() == 0)) func theOwnersNextOpeningRepairsModes() throws {
    for suffix in ["-wal", "-shm"] { _ = folder.write("store.db" + suffix, "", mode: 0o400) }
    giveToNobody()
    #expect(try asNobody("add", "three").lines == ["ok"])
    #expect(try asNobody("texts").lines == ["one", "two", "three", "ok"])
  }

  @Test(.enabled(if: geteuid() == 0)) func aFileOfAnotherUserIsNamed() throws {
    giveToNobody()
    let wal = folder.write("store.db-wal", "", mode: 0o600)
    let result = try asNobody("add", "three")
    #expect(result.lines == ["permissionDenied"])
    #expect(unlink(wal) == 0)
    #expect(try asNobody("add", "three").lines == ["ok"])
  }

  @Test(.enabled(if: geteuid() == 0))
  func aFileThatChangesUnderAReaderWithoutLocksIsNoResult() throws {
    giveToNobody()
    #expect(chmod(path, 0o400) == 0)
    let reader = try Program.start(
      Program.helper, ["texts", path, keyFile, "wait"], environment: ["AS_NOBODY": "1"])
    #expect(reader.waitForLine("two"))
    let writer = try SmallStore.open(path, try Keys.raw)
    try writer.write { try $0.run("INSERT INTO item (text) VALUES ('three')") }
    try writer.close()
    reader.closeInput()
    #expect(reader.finish().lines.last == "busy")
  }
}
