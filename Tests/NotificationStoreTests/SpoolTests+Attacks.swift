import EncryptedSQLite
import Foundation
import TestSupport
import Testing

@testable import NotificationStore

/// Files of the spool that another program has changed, or put there.
extension SpoolTests {
  /// Opens the store and expects these notifications, and these files in `damaged/`.
  private func expectImport(_ expected: [String], damaged expectedDamaged: [String], _ comment: Comment) throws {
    let store = try store()
    #expect(try identifiers(store) == expected, comment)
    #expect(damaged == expectedDamaged.sorted(), comment)
    #expect(store.spool.damaged == expectedDamaged.count, comment)
    #expect(store.spool.faults == (expectedDamaged.isEmpty ? [] : [DatabaseError(.spoolAltered, "")]), comment)
    #expect(!store.spool.isSomethingLeft, comment)
    try store.close()
    // Reported once an opening, for as long as they are there.
    let second = try self.store()
    #expect(second.spool.faults.count == (expectedDamaged.isEmpty ? 0 : 1), comment)
    #expect(try identifiers(second) == expected, comment)
    try second.wipe()
    try second.close()
    #expect(folder.names == ["store"], comment)
  }

  /// The names of two files that wait, n1's and n2's.
  private func two() throws -> (String, String) {
    try store().close()
    try append(1)
    let first = try #require(try files().keys.first)
    try append(2)
    return (first, try #require(try files().keys.first { $0 != first }))
  }

  @Test("A file that was cut off at any byte is kept aside, and the others are imported") func truncated() throws {
    let (first, _) = try two()
    let whole = try #require(try files()[first])
    let other = try files().filter { $0.key != first }
    for end in Array(stride(from: 0, to: whole.count, by: 61)) + [1, 7, 8, 55, 56, 67, 68, 83, 84, whole.count - 1] {
      try store().wipe()
      mkdir(spool.path, 0o700)
      for (name, bytes) in other { try write(bytes, name) }
      try write(Array(whole[..<end]), first)
      try expectImport(["n2"], damaged: [first], "cut off at \(end)")
    }
  }

  @Test("A file with a bit changed anywhere is imported never; its header's salt or check makes it foreign")
  func altered() throws {
    let (first, _) = try two()
    let whole = try #require(try files()[first])
    for offset in [0, 6, 56, 67, 68, whole.count / 2, whole.count - 16, whole.count - 1] {
      mkdir(spool.path, 0o700)
      var bytes = whole
      bytes[offset] ^= 4
      for name in try files().keys { unlink(spool.path + "/" + name) }
      try write(bytes, first)
      try expectImport([], damaged: [first], "byte \(offset)")
    }
    for offset in [8, 39, 40, 55] {
      mkdir(spool.path, 0o700)
      var bytes = whole
      bytes[offset] ^= 4
      try write(bytes, first)
      let store = try store()
      #expect(store.spool.waiting == 1 && store.spool.damaged == 0)
      #expect(store.spool.faults == [DatabaseError(.spoolUnreadable, "")])
      #expect(try files()[first] == bytes)
      try store.wipe()
      try store.close()
    }
  }

  @Test("Files that were exchanged for each other, renamed, copied or linked do not take another's place")
  func renamed() throws {
    let (first, second) = try two()
    let before = try files()
    let new = String(repeating: "0", count: 32)
    try write(try #require(before[second]), first)
    try write(try #require(before[first]), second)
    try expectImport([], damaged: [first, second], "exchanged")
    mkdir(spool.path, 0o700)
    try write(try #require(before[first]), new)
    try expectImport([], damaged: [new], "renamed")
    mkdir(spool.path, 0o700)
    try write(try #require(before[first]), first)
    try write(try #require(before[first]), "copy")
    try expectImport(["n1"], damaged: ["copy"], "copied")
    mkdir(spool.path, 0o700)
    try write(try #require(before[first]), first)
    #expect(link(spool.path + "/" + first, spool.path + "/" + new) == 0)
    try expectImport(["n1"], damaged: [new], "a second name in the spool")
    mkdir(spool.path, 0o700)
    try write(try #require(before[first]), first)
    #expect(link(spool.path + "/" + first, folder.path("elsewhere")) == 0)
    let store = try store()
    #expect(try identifiers(store) == ["n1"])
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path("elsewhere"))) == Data(try #require(before[first])))
  }

  @Test("A file of another store, under another key, stays and is foreign") func otherStore() throws {
    _ = try two()
    let other = NotificationSpool(besideStore: folder.path("other"))
    #expect(try other.append([notification(7)], key: EncryptionKey.random()) == 1)
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: other.path).first)
    try FileManager.default.moveItem(atPath: other.path + "/" + name, toPath: spool.path + "/" + name)
    rmdir(other.path)
    let store = try store()
    #expect(try identifiers(store) == ["n1", "n2"])
    #expect(store.spool.waiting == 1 && store.spool.damaged == 0 && !store.spool.isSomethingLeft)
    #expect(store.spool.faults == [DatabaseError(.spoolUnreadable, "")])
    #expect(try Array(files().keys) == [name])
  }

  @Test("Links, pipes, folders, sockets and huge files are kept aside, unopened") func notFiles() throws {
    let (first, _) = try two()
    let content = try #require(try files()[first])
    let target = folder.path("target")
    try Data(content).write(to: URL(fileURLWithPath: target))
    unlink(spool.path + "/" + first)
    let names = (0..<6).map { String(repeating: "\($0)", count: 32) }
    // It would be authentic under its name.
    #expect(symlink(target, spool.path + "/" + first) == 0)
    #expect(symlink("nowhere", spool.path + "/" + names[0]) == 0)
    #expect(mkfifo(spool.path + "/" + names[1], 0o600) == 0)
    #expect(mkdir(spool.path + "/" + names[2], 0o700) == 0)
    try write([1], names[2] + "/file")
    try write([], names[3])
    #expect(truncate(spool.path + "/" + names[3], off_t(1) << 36) == 0)
    try write([], names[4])
    try write(Array("AWSPOOL\u{2}".utf8), names[5])
    try FileManager.default.createDirectory(atPath: spool.path + "/damaged", withIntermediateDirectories: true)
    let store = try store()
    #expect(try identifiers(store) == ["n2"])
    #expect(damaged == (names + [first]).sorted())
    #expect(try Array(Data(contentsOf: URL(fileURLWithPath: target))) == content)
    #expect(FileManager.default.fileExists(atPath: spool.path + "/damaged/\(names[2])/file"))
    // A wipe takes them all, and nothing that a link leads to.
    try store.wipe()
    try store.close()
    #expect(folder.names == ["store", "target"])
    #expect(try Array(Data(contentsOf: URL(fileURLWithPath: target))) == content)
  }

  @Test("A file of a name that is in damaged/ already replaces none there") func damagedTwice() throws {
    try store().close()
    let name = String(repeating: "d", count: 32)
    for number in 1...3 {
      mkdir(spool.path, 0o700)
      try write([UInt8(number)], name)
      let store = try store()
      #expect(store.spool.damaged == number)
      try store.close()
    }
    let kept = try damaged.map { try Data(contentsOf: URL(fileURLWithPath: spool.path + "/damaged/" + $0)) }
    #expect(Set(kept) == [Data([1]), Data([2]), Data([3])])
  }

  @Test("A link in the place of damaged/ or of the spool is not followed") func links() throws {
    try store().close()
    let target = folder.path("target")
    mkdir(target, 0o700)
    mkdir(spool.path, 0o700)
    #expect(symlink(target, spool.path + "/damaged") == 0)
    try write([1], "junk")
    let store = try store()
    #expect(store.spool.isSomethingLeft)
    #expect(try FileManager.default.contentsOfDirectory(atPath: target).isEmpty)
    #expect(try files().keys.sorted() == ["junk"])
    try store.wipe()
    #expect(symlink(target, spool.path) == 0)
    #expect(throws: DatabaseError(.notAFile, "")) { try append(1) }
    #expect(throws: DatabaseError(.notAFile, "")) { try store.wipe() }
    #expect(try FileManager.default.contentsOfDirectory(atPath: target).isEmpty)
  }

  @Test("A file, a pipe or a link in the place of the spool is refused, and reported") func notAFolder() throws {
    try store().close()
    for make in [
      { _ = self.folder.write("store.spool", "theirs") }, { mkfifo(self.spool.path, 0o600) },
      { symlink(self.folder.path("nowhere"), self.spool.path) },
    ] as [() -> Void] {
      make()
      #expect(throws: DatabaseError(.notAFile, "")) { try append(1) }
      #expect(spool.inspect([]).faults == [DatabaseError(.notAFile, "")])
      #expect(try store().spool.faults == [DatabaseError(.notAFile, "")])
      #expect(unlink(spool.path) == 0)
    }
  }

  @Test("A spool of the old form is reported, never removed, and no push that must wait is lost in silence")
  func oldForm() throws {
    try store().close()
    let text = "AWSPOOL1" + String(repeating: "x", count: 200)
    _ = folder.write("store.spool", text)
    for _ in 1...2 {
      let store = try store()
      #expect(store.spool.faults == [DatabaseError(.spoolUnreadable, "")] && !store.spool.isSomethingLeft)
      #expect(throws: DatabaseError(.spoolUnreadable, "")) { try append(1) }
      try store.record(PushRecords(notification: NotificationData(timestamp: 1)))
      // Everything else is gone then.
      #expect(throws: DatabaseError(.spoolUnreadable, "")) { try store.wipe() }
      #expect(try store.notifications.count() == 0)
      try store.close()
    }
    #expect(try StoreStatus(path: path, key: Keys.raw).spool.faults == [DatabaseError(.spoolUnreadable, "")])
    #expect(try String(contentsOfFile: spool.path, encoding: .utf8) == text)
    let report = try NotificationStore.rotateEncryptionKey(of: path, from: Keys.raw, to: Keys.wrong)
    #expect(!report.wasDone)
    #expect(try String(contentsOfFile: spool.path, encoding: .utf8) == text)
  }

  @Test("A file of a later version stays, and is reported") func later() throws {
    try store().close()
    mkdir(spool.path, 0o700)
    let bytes = Array("AWSPOOL\u{3}".utf8) + [UInt8](repeating: 1, count: 200)
    try write(bytes, String(repeating: "e", count: 32))
    let store = try store()
    #expect(store.spool.faults == [DatabaseError(.spoolUnreadable, "")] && store.spool.waiting == 1)
    #expect(try Array(files().values) == [bytes])
  }

  @Test("A push without identities, though authentic, is not imported: a kill would double it") func withoutIdentity()
    throws
  {
    try store().close()
    var data = NotificationData(timestamp: 1)
    data.recordId = ""
    let push = SpooledPush([.notification(data)], writer: "w", sequence: 1)
    mkdir(spool.path, 0o700)
    let name = String(repeating: "f", count: 32)
    try write(try SpoolFile.encrypted(push, name: name, key: Keys.raw), name)
    try expectImport([], damaged: [name], "no recordId")
  }

  @Test("A file that cannot be read now stays, and keeps no other back", .enabled(if: geteuid() == 0))
  func unreadable() throws {
    let (first, _) = try two()
    #expect(chmod(folder.path, 0o777) == 0 && chmod(spool.path, 0o777) == 0)
    #expect(chmod(spool.path + "/" + first, 0) == 0)
    for name in try folder.names + files().keys.filter({ $0 != first }).map({ "store.spool/" + $0 }) {
      #expect(chown(folder.path(name), 65534, 65534) == 0)
    }
    let keyFile = TemporaryFolder()
    let key = keyFile.write("key", Keys.rawText)
    let result = try Program.run(Program.helper, ["open", path, key], environment: ["AS_NOBODY": "1"])
    #expect(result.lines == ["ok"])
    #expect(try Array(files().keys) == [first])
    #expect(try identifiers(store()) == ["n2", "n1"])
  }
}
