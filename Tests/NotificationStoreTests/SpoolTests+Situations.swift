import EncryptedSQLite
import Foundation
import TestSupport
import Testing

@testable import NotificationStore

/// What else happens to a store while something waits in its spool.
extension SpoolTests {
  @Test("Status and verify count what waits, and tell foreign from altered files; they change nothing")
  func statusAndVerify() throws {
    try store().close()
    func look() throws -> (SpoolReport, StoreVerification.Check) {
      let check = try StoreVerification(path: path, key: Keys.raw).checks.last
      return (try StoreStatus(path: path, key: Keys.raw).spool, try #require(check))
    }
    #expect(try look().0.waiting == 0 && look().1.name == "spool" && look().1.detail == "no push waits")
    let old = EncryptionKey.random()
    try append(1, key: old)
    try append(2, 3)
    #expect(try look().0.waiting == 3 && look().0.faults == [DatabaseError(.spoolUnreadable, "")])
    #expect(try look().1.faults.isEmpty && look().1.detail.contains("3 pushes wait; 1 file"))
    let status = try StoreStatus(path: path, key: Keys.raw, previousKey: old)
    #expect(status.spool.waiting == 3 && status.spool.faults.isEmpty)
    let verification = try StoreVerification(path: path, key: Keys.raw, previousKey: old)
    #expect(verification.checks.last?.detail == "3 pushes wait")
    try write([1, 2, 3], "junk")
    #expect(try look().0.damaged == 1 && look().0.waiting == 3)
    #expect(try look().1.faults.count == 1)
    #expect(try files().count == 4 && damaged.isEmpty)
    // Kept aside by an opening, they are counted still.
    try store().close()
    #expect(try look().0.damaged == 1 && look().0.waiting == 1 && look().1.faults.count == 1)
  }

  @Test("What was written before a rotation is imported with it, or with the previous key; never lost")
  func rotation() throws {
    let (old, new) = (try Keys.raw, EncryptionKey.random())
    let first = try store()
    try append(1, key: old)
    _ = try first.rotateEncryptionKey(to: new)
    #expect(try identifiers(first) == ["n1"])
    try first.close()
    // A process that does not have the new key yet.
    try append(2, key: old)
    let second = try store(new)
    #expect(second.spool.faults == [DatabaseError(.spoolUnreadable, "")] && second.spool.taken == 0)
    #expect(second.spool.waiting == 1 && second.spool.damaged == 0)
    try second.close()
    try append(3, key: new)
    let third = try store(new, previous: old)
    #expect(third.spool.taken == 2 && third.spool.faults.isEmpty)
    #expect(try identifiers(third) == ["n1", "n2", "n3"])
    try third.close()
    #expect(folder.names == ["store"])
  }

  @Test("The rotation of a closed store imports what waits first, also under a key from before the old one")
  func closedRotation() throws {
    let (new, older) = (EncryptionKey.random(), EncryptionKey.random())
    try store().close()
    try append(1)
    try append(2, key: older)
    let faults = Locked<[DatabaseError]>([])
    _ = try NotificationStore.rotateEncryptionKey(
      of: path, from: Keys.raw, to: new, reportFault: { error in faults.withLock { $0.append(error) } })
    #expect(faults.snapshot == [DatabaseError(.spoolUnreadable, "")] && spool.count() == 1)
    _ = try NotificationStore.rotateEncryptionKey(of: path, from: new, to: Keys.raw, previous: older)
    #expect(folder.names == ["store"])
    #expect(try identifiers(store()) == ["n1", "n2"])
  }

  @Test("What a rotation cannot import, and no key at hand opens, does not stand in its way") func foreign() throws {
    let new = EncryptionKey.random()
    try store().close()
    try append(1, key: EncryptionKey.random())
    try write([7], "junk")
    _ = try NotificationStore.rotateEncryptionKey(of: path, from: Keys.raw, to: new)
    let store = try store(new)
    _ = try store.rotateEncryptionKey(to: Keys.raw)
    try store.close()
    #expect(spool.count() == 1 && damaged == ["junk"])
  }

  @Test(
    "A rotation begins only when what waits was imported, and never says that the old key is current when it is not")
  func obstructedRotation() throws {
    let (old, new) = (try Keys.raw, EncryptionKey.random())
    let store = try store()
    mkfifo(spool.path, 0o600)
    #expect(throws: DatabaseError(.notAFile, "")) { try store.rotateEncryptionKey(to: new) }
    try store.close()
    #expect(throws: DatabaseError(.notAFile, "")) {
      try NotificationStore.rotateEncryptionKey(of: path, from: old, to: new)
    }
    unlink(spool.path)
    let spoolPath = spool.path
    #expect(throws: DatabaseError(.rotationUnconfirmed, "")) {
      try NotificationStore.rotateEncryptionKey(of: path, from: old, to: new) {
        mkfifo(spoolPath, 0o600)
        return false
      }
    }
    unlink(spool.path)
    try append(1, key: old)
    #expect(try NotificationStore.rotateEncryptionKey(of: path, from: old, to: new).wasDone)
    #expect(try identifiers(self.store(new)) == ["n1"])
  }

  @Test("A wipe removes what waits, of every key, what is in damaged/, and temporary files") func wipe() throws {
    let store = try store()
    try append(1, key: EncryptionKey.random())
    try append(2)
    try write([1], "junk")
    store.takeSpoolIn()
    try append(3)
    try write([1], "." + String(repeating: "a", count: 32))
    #expect(spool.count() == 2 && damaged == ["junk"])
    try store.wipe()
    #expect(try store.notifications.count() == 0)
    try store.close()
    #expect(folder.names == ["store"])
    #expect(try self.store().notifications.count() == 0)
  }

  @Test("A wipe removes the rows also when the spool is in use, and says so") func busyWipe() throws {
    let store = try store()
    try store.record(PushRecords(notification: NotificationData(timestamp: 1)))
    try append(1)
    let held = try #require(try SpoolFolder.open(spool.path))
    #expect(try held.lock(timeout: 0))
    LockWait.policy.withLock { $0.timeout = 0.1 }
    defer { LockWait.policy.withLock { $0.timeout = 5 } }
    #expect(throws: DatabaseError(.busy, "")) { try store.wipe() }
    #expect(try store.notifications.count() == 0)
    withExtendedLifetime(held) {}
  }

  @Test("A backup by an open store has what waited, and a restored store imports what has come since")
  func backupAndRestore() throws {
    let store = try store()
    try append(1)
    _ = try store.backUp(to: folder.path("backup"))
    try store.close()
    let backup = try NotificationStore(.init(path: folder.path("backup"), key: Keys.raw, access: .readOnly))
    #expect(try identifiers(backup) == ["n1"])
    try backup.close()
    try append(2)
    _ = try NotificationStore.restore(path, key: Keys.raw, from: folder.path("backup"))
    #expect(spool.count() == 1)
    #expect(try identifiers(self.store()) == ["n1", "n2"])
  }

  @Test("What stays after an import moves to another store's spool, and replaces none there") func move() throws {
    let other = folder.path("other")
    try append(1, key: EncryptionKey.random())
    let before = try files()
    try spool.move(toStore: other)
    #expect(folder.names == ["other.spool"])
    #expect(NotificationSpool(besideStore: other).count() == 1)
    try append(2)
    #expect(throws: DatabaseError(.alreadyExists, "")) { try spool.move(toStore: other) }
    #expect(spool.count() == 1)
    let moved = other + ".spool/" + (before.keys.first ?? "")
    #expect(try Array(Data(contentsOf: URL(fileURLWithPath: moved))) == before.values.first)
  }
}
