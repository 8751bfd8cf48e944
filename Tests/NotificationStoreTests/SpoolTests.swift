import EncryptedSQLite
import Foundation
import TestSupport
import Testing

@testable import NotificationStore

@Suite("The spool beside a store") struct SpoolTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path("store") }
  private var spool: NotificationSpool { NotificationSpool(besideStore: path, timeout: 0.2) }
  private let secret = "Ada: the code is 4711"

  private func notification(_ number: Int) -> SpoolEntry {
    var data = NotificationData(timestamp: 1_764_460_861_000 + Int64(number))
    (data.notificationId, data.title, data.body, data.source) = ("n\(number)", secret, "body \(number)", .extension)
    return .notification(data)
  }

  private func store(_ key: EncryptionKey? = nil, previous: EncryptionKey? = nil) throws -> NotificationStore {
    try NotificationStore(.init(path: path, key: try key ?? Keys.raw, previousKey: previous))
  }

  private func titles(_ store: NotificationStore) throws -> [String] {
    try store.notifications.page(limit: 1000).map(\.notificationId)
  }

  private func bytes() throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: spool.path))) }
  private func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: spool.path)) }

  /// Where each entry begins, and the file's end.
  private func offsets(_ bytes: [UInt8]) -> [Int] {
    var offsets = [72]
    while let last = offsets.last, last + 8 <= bytes.count {
      offsets.append(last + 8 + bytes[last..<last + 4].reduce(0) { $0 << 8 | Int($1) })
    }
    return offsets
  }

  @Test("What waits is taken in at the next opening, in order, once, and leaves nothing behind") func takenIn() throws {
    try store().close()
    var silent = SilentPushData()
    silent.payload = #"{"a":"\#(secret)"}"#
    var token = NotificationTokenData()
    token.token = "00ff"
    try spool.append([notification(1), .silentPush(silent)], key: try Keys.raw)
    try spool.append(
      [
        .token(token), notification(2),
        .receipt(
          DeliveryReceipt(recordId: "01a22c17-0ed4-76d2-8cf7-d033c1dc1c8b", notificationId: "n2", receivedAt: 5)),
      ], key: try Keys.raw)
    #expect(spool.count() == 5)
    let store = try store()
    #expect(store.spool.taken == 5 && store.spool.faults.isEmpty)
    #expect(try titles(store) == ["n1", "n2"])
    let first = try #require(try store.notifications.page(limit: 1).first)
    #expect(first.title == secret && first.source == .extension && first.timestamp == 1_764_460_861_001)
    #expect(first.deviceId == store.deviceId)
    #expect(try store.silentPushes.page(limit: 9).map(\.payload) == [silent.payload])
    #expect(try store.tokens.page(limit: 9).map(\.token) == ["00ff"])
    #expect(try store.database.read { try DeliveryReceiptQueue($0).count() } == 1)
    try store.close()
    #expect(folder.names == ["store"])
    #expect(try self.store().spool.taken == 0)
  }

  @Test("Nothing of it can be read on the disk, and only its owner may") func sealed() throws {
    try spool.append([notification(1)], key: try Keys.raw)
    let raw = try bytes()
    for text in [secret, "ios_notification", "n1", "body"] {
      #expect(Data(raw).range(of: Data(text.utf8)) == nil)
    }
    let attributes = try FileManager.default.attributesOfItem(atPath: spool.path)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
  }

  @Test("With a passphrase nothing waits, and nothing is written") func passphrase() throws {
    #expect(throws: DatabaseError(.spoolUnavailable, "")) {
      try spool.append([notification(1)], key: try EncryptionKey("correct horse"))
    }
    #expect(folder.names == [])
  }

  @Test("An entry that comes again after a kill is not stored twice") func again() throws {
    try store().close()
    var silent = SilentPushData()
    silent.payload = "{}"
    // Without an identifier nothing would merge them.
    try spool.append([.silentPush(silent), notification(1)], key: try Keys.raw)
    let before = try bytes()
    try store().close()
    try write(before)
    let store = try store()
    #expect(store.spool.taken == 2)
    #expect(try store.silentPushes.count() == 1 && store.notifications.count() == 1)
  }

  @Test("A push that the app has recorded as well stays one row") func merged() throws {
    let first = try store()
    guard case .notification(var data) = notification(1) else { return }
    data.source = .foreground
    try first.record(PushRecords(notification: data))
    try first.close()
    try spool.append([notification(1)], key: try Keys.raw)
    let second = try store()
    #expect(try second.notifications.count() == 1)
    #expect(try second.notifications.page(limit: 1).first?.source == .foreground)
  }

  @Test("An entry cut off at any byte is left out, the others are taken in, and the next goes on behind them")
  func cutOff() throws {
    try store().close()
    try spool.append([notification(1), notification(2)], key: try Keys.raw)
    let whole = try bytes()
    let offsets = offsets(whole)
    #expect(offsets.count == 3 && offsets[2] == whole.count)
    for end in Array(stride(from: 0, to: whole.count, by: 37)) + [71, 72, 73, 79, 80, offsets[1], offsets[1] + 8] {
      let empty = try store()
      try empty.wipe()
      try empty.close()
      try write(Array(whole[..<end]))
      try spool.append([notification(3)], key: try Keys.raw)
      let store = try store()
      #expect(store.spool.faults.isEmpty)
      #expect(try titles(store) == (end < offsets[1] ? ["n3"] : ["n1", "n3"]), "cut off at \(end) of \(offsets)")
      try store.close()
      #expect(folder.names == ["store"])
    }
    try write(Array(whole.dropLast(3)))
    let store = try store()
    #expect(store.spool.cutOff == 1 && store.spool.taken == 1)
  }

  @Test("Entries that were reordered, doubled, altered or brought from another file are reported and kept aside")
  func tampered() throws {
    try spool.append([notification(1), notification(2), notification(3)], key: try Keys.raw)
    let whole = try bytes()
    let offsets = offsets(whole)
    let entries = (0..<3).map { Array(whole[offsets[$0]..<offsets[$0 + 1]]) }
    let header = Array(whole[..<72])
    try FileManager.default.removeItem(atPath: spool.path)
    try spool.append([notification(9)], key: try Keys.raw)
    let foreign = Array(try bytes()[72...])
    var altered = whole
    altered[offsets[1] + 30] ^= 1
    var length = whole
    length[offsets[1]] = 0xff
    // A length that may be: without its double it would look like an entry that was cut off.
    var longer = whole
    longer[offsets[1] + 2] ^= 0x40
    let cases: [(bytes: [UInt8], taken: [String])] = [
      (header + entries[1] + entries[0] + entries[2], ["n3"]),
      (header + entries[0] + entries[0] + entries[2], ["n1", "n3"]),
      (header + entries[0] + entries[2], ["n1"]), (header + entries[0] + foreign, ["n1"]), (altered, ["n1", "n3"]),
      (length, ["n1"]), (longer, ["n1"]), (header + entries[0] + [UInt8](repeating: 0, count: 8), ["n1"]),
      (header + entries[0] + [UInt8](repeating: 0, count: 500), ["n1"]),
    ]
    for (bytes, taken) in cases {
      for name in folder.names { try FileManager.default.removeItem(atPath: folder.path(name)) }
      try store().close()
      try write(bytes)
      let store = try store()
      #expect(try titles(store) == taken)
      #expect(store.spool.faults == [DatabaseError(.spoolUnreadable, "")])
      // Not met again, and there for whoever wants to look.
      #expect(folder.names.contains { $0.hasPrefix("store.spool-damaged-") })
      #expect(!folder.names.contains("store.spool"))
      try store.wipe()
      try store.close()
      #expect(folder.names == ["store"])
    }
  }

  @Test("A file of nonsense, and one of a later version, stay and are reported") func nonsense() throws {
    try store().close()
    for bytes in [[UInt8](repeating: 7, count: 100), Array("AWSPOOL2".utf8) + [UInt8](repeating: 1, count: 200)] {
      try write(bytes)
      let store = try store()
      #expect(store.spool.faults == [DatabaseError(.spoolUnreadable, "")])
      try store.close()
      #expect(try self.bytes() == bytes)
      // And are in nobody's way.
      try spool.append([notification(1)], key: try Keys.raw)
      let next = try self.store()
      #expect(next.spool.taken == 1 && next.spool.faults.count == 1)
      try next.wipe()
      try next.close()
    }
  }

  @Test("What was sealed before a rotation is taken in with it, or with the previous key; never lost") func rotation()
    throws
  {
    let (old, new) = (try Keys.raw, EncryptionKey.random())
    let first = try store()
    try spool.append([notification(1)], key: old)
    _ = try first.rotateEncryptionKey(to: new)
    #expect(try titles(first) == ["n1"])
    try first.close()
    // A process that has not heard of the new key.
    try spool.append([notification(2)], key: old)
    let second = try store(new)
    #expect(second.spool.faults == [DatabaseError(.spoolUnreadable, "")] && second.spool.taken == 0)
    try second.close()
    // One that has goes on beside it.
    try spool.append([notification(3)], key: new)
    #expect(spool.count() == 2)
    let third = try store(new, previous: old)
    #expect(third.spool.taken == 2 && third.spool.faults.isEmpty)
    #expect(try titles(third) == ["n1", "n2", "n3"])
    try third.close()
    #expect(folder.names == ["store"])
  }

  @Test("The rotation of a closed store takes in what waits first") func closedRotation() throws {
    let new = EncryptionKey.random()
    try store().close()
    try spool.append([notification(1)], key: try Keys.raw)
    _ = try NotificationStore.rotateEncryptionKey(of: path, from: try Keys.raw, to: new)
    #expect(folder.names == ["store"])
    let store = try store(new)
    #expect(try titles(store) == ["n1"])
  }

  @Test("The status tells how much waits, of whatever key, and takes nothing in") func status() throws {
    try store().close()
    #expect(try StoreStatus(path: path, key: try Keys.raw).spooled == 0)
    try spool.append([notification(1)], key: EncryptionKey.random())
    try spool.append([notification(2), notification(3)], key: try Keys.raw)
    #expect(try StoreStatus(path: path, key: try Keys.raw).spooled == 3)
    #expect(spool.count() == 3)
  }

  @Test("A file that cannot be opened does not keep the others from being taken in") func oneOfSeveral() throws {
    try store().close()
    mkfifo(spool.path + "-0", 0o600)
    try spool.append([notification(1)], key: try Keys.raw)
    let store = try store()
    #expect(try titles(store) == ["n1"])
    #expect(store.spool.faults == [DatabaseError(.notAFile, "")])
  }

  @Test("What a rotation cannot take in, and no key at hand opens, does not stand in its way") func unreadable() throws
  {
    let new = EncryptionKey.random()
    try store().close()
    try spool.append([notification(1)], key: EncryptionKey.random())
    _ = try NotificationStore.rotateEncryptionKey(of: path, from: try Keys.raw, to: new)
    let store = try store(new)
    _ = try store.rotateEncryptionKey(to: try Keys.raw)
    try store.close()
    #expect(spool.count() == 1)
  }

  @Test(
    "A rotation begins only when what waits was taken in, and never says that the old key is in force when it is not")
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
    try spool.append([notification(1)], key: old)
    #expect(try NotificationStore.rotateEncryptionKey(of: path, from: old, to: new).wasDone)
    let rotated = try self.store(new)
    #expect(try titles(rotated) == ["n1"])
  }

  @Test("Behind a length that cannot be, nothing is written over: the next entry begins a file of its own")
  func brokenLength() throws {
    try store().close()
    for number in 1...3 { try spool.append([notification(number)], key: try Keys.raw) }
    var altered = try bytes()
    altered[offsets(altered)[1]] = 0xff
    try write(altered)
    try spool.append([notification(4)], key: try Keys.raw)
    let store = try store()
    #expect(try titles(store) == ["n1", "n4"])
    #expect(store.spool.faults == [DatabaseError(.spoolUnreadable, "")])
    let kept = try #require(folder.names.first { $0.hasPrefix("store.spool-damaged-") })
    #expect(Array(try Data(contentsOf: URL(fileURLWithPath: folder.path(kept)))) == altered)
  }

  @Test("A wipe removes what waits, in all its files") func wipe() throws {
    let store = try store()
    try spool.append([notification(1)], key: EncryptionKey.random())
    try spool.append([notification(2)], key: try Keys.raw)
    #expect(folder.names.filter { $0.hasPrefix("store.spool") }.count == 2)
    try store.wipe()
    try store.close()
    #expect(folder.names == ["store"])
  }

  @Test("Readers, guests and a store that cannot be opened leave it alone") func untouched() throws {
    try store().close()
    try spool.append([notification(1)], key: try Keys.raw)
    let before = try bytes()
    try NotificationStore(.init(path: path, key: try Keys.raw, access: .readOnly)).close()
    var guest = NotificationStore.Configuration(path: path, key: try Keys.raw, creating: false)
    guest.isGuest = true
    try NotificationStore(guest).close()
    #expect(throws: DatabaseError(.wrongKey, "")) { try store(EncryptionKey.random()) }
    #expect(try bytes() == before)
  }

  @Test("A link, a folder and a pipe in its place are refused") func notAFile() throws {
    let target = folder.write("target", "theirs")
    symlink(target, spool.path)
    #expect(throws: DatabaseError.self) { try spool.append([notification(1)], key: try Keys.raw) }
    #expect(try String(contentsOfFile: target, encoding: .utf8) == "theirs")
    unlink(spool.path)
    mkfifo(spool.path, 0o600)
    #expect(throws: DatabaseError(.notAFile, "")) { try spool.append([notification(1)], key: try Keys.raw) }
    unlink(spool.path)
    mkdir(spool.path, 0o700)
    #expect(throws: DatabaseError.self) { try spool.append([notification(1)], key: try Keys.raw) }
  }

  @Test("What an administrator seals belongs to the store's owner", .enabled(if: geteuid() == 0)) func owner() throws {
    try store().close()
    let nobody: uid_t = 65534
    #expect(chown(path, nobody, nobody) == 0)
    try spool.append([notification(1)], key: try Keys.raw)
    var status = stat()
    #expect(stat(spool.path, &status) == 0 && status.st_uid == nobody && status.st_mode & 0o777 == 0o600)
  }

  @Test("Who works on it is waited for, and reported when it takes too long") func busy() throws {
    try spool.append([notification(1)], key: try Keys.raw)
    let held = try SpoolFile.open(spool.path, creating: false, until: Date())
    #expect(throws: DatabaseError(.busy, "")) { try spool.append([notification(2)], key: try Keys.raw) }
    withExtendedLifetime(held) {}
  }

  @Test("A record too large, and one too many, are refused; what was there stays") func bounds() throws {
    try store().close()
    try spool.append([notification(1)], key: try Keys.raw)
    var huge = SilentPushData()
    huge.payload = String(repeating: "x", count: 2 << 20)
    #expect(throws: DatabaseError(.tooLarge, "")) {
      try spool.append([notification(2), .silentPush(huge)], key: try Keys.raw)
    }
    var large = SilentPushData()
    large.payload = String(repeating: "x", count: 1_000_000)
    for _ in 0..<16 { try spool.append([.silentPush(large)], key: try Keys.raw) }
    #expect(throws: DatabaseError(.tooManyWaiting, "")) { try spool.append([.silentPush(large)], key: try Keys.raw) }
    let store = try store()
    #expect(store.spool.taken == 17 && store.spool.faults.isEmpty)
  }
}
