import EncryptedSQLite
import Foundation
import TestSupport
import Testing

@testable import NotificationStore

@Suite("The encrypted spool of a store") struct SpoolTests {
  let folder = TemporaryFolder()
  var path: String { folder.path("store") }
  var spool: NotificationSpool { NotificationSpool(besideStore: path, timeout: 0.2) }
  static let secret = "Ada: the code is 4711"

  func notification(_ number: Int) -> [SpoolEntry] {
    var data = NotificationData(timestamp: 1_764_460_861_000 + Int64(number))
    (data.notificationId, data.title, data.body) = ("n\(number)", Self.secret, "body \(number)")
    (data.source, data.recordId) = (.extension, RecordID.random())
    return [.notification(data)]
  }

  func store(_ key: EncryptionKey? = nil, previous: EncryptionKey? = nil) throws -> NotificationStore {
    try NotificationStore(.init(path: path, key: try key ?? Keys.raw, previousKey: previous))
  }

  /// Lets the notifications of these numbers wait.
  func append(_ numbers: Int..., key: EncryptionKey? = nil) throws {
    #expect(try spool.append(numbers.map(notification), key: key ?? Keys.raw) == numbers.count)
  }

  func identifiers(_ store: NotificationStore) throws -> [String] {
    try store.notifications.page(limit: 20_000).map(\.notificationId)
  }

  /// The files that wait, by name.
  func files() throws -> [String: [UInt8]] {
    let names = try FileManager.default.contentsOfDirectory(atPath: spool.path).filter { $0 != "damaged" }
    return try names.reduce(into: [:]) {
      $0[$1] = Array(try Data(contentsOf: URL(fileURLWithPath: spool.path + "/" + $1)))
    }
  }

  func write(_ bytes: [UInt8], _ name: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: spool.path + "/" + name))
  }

  var damaged: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: spool.path + "/damaged")) ?? []).sorted()
  }

  /// Puts files there that are as written by this program, and not synced.
  func plant(_ numbers: Range<Int>) throws {
    mkdir(spool.path, 0o700)
    for number in numbers {
      let name = SpoolFile.randomName()
      let push = SpooledPush(notification(number), writer: "w", sequence: Int64(number))
      try write(try SpoolFile.encrypted(push, name: name, key: Keys.raw), name)
    }
  }

  // MARK: Keeping and importing

  @Test("What waits is imported at the next opening, once, and leaves nothing behind") func imported() throws {
    try store().close()
    var silent = SilentPushData()
    silent.payload = #"{"a":"\#(Self.secret)"}"#
    var token = NotificationTokenData()
    token.token = "00ff"
    let receipt = DeliveryReceipt(
      recordId: "01a22c17-0ed4-76d2-8cf7-d033c1dc1c8b", notificationId: "n2", receivedAt: 5)
    #expect(try spool.append([notification(1) + [.silentPush(silent)], [.token(token)]], key: Keys.raw) == 2)
    #expect(try spool.append([notification(2) + [.receipt(receipt)]], key: Keys.raw) == 1)
    // A push is one file, whatever it consists of.
    #expect(try spool.count() == 3 && files().count == 3)
    let store = try store()
    #expect(store.spool.taken == 3 && store.spool.waiting == 0 && store.spool.faults.isEmpty)
    #expect(try identifiers(store) == ["n1", "n2"])
    let first = try #require(try store.notifications.page(limit: 1).first)
    #expect(first.title == Self.secret && first.source == .extension && first.timestamp == 1_764_460_861_001)
    #expect(first.deviceId == store.deviceId)
    #expect(try store.silentPushes.page(limit: 9).map(\.payload) == [silent.payload])
    #expect(try store.tokens.page(limit: 9).map(\.token) == ["00ff"])
    #expect(try store.database.read { try DeliveryReceiptQueue($0).count() } == 1)
    try store.close()
    #expect(folder.names == ["store"])
    #expect(try self.store().spool.taken == 0)
  }

  @Test("Every column of what waits is imported as it would have been stored") func columns() throws {
    var data = NotificationData(timestamp: 5, label: "label")
    (data.notificationId, data.title, data.body, data.categoryIdentifier) = (
      "id", "title", "b\u{0}\u{1F600}\"", "category"
    )
    (data.bundleIdentifier, data.sound, data.badge, data.threadIdentifier) = ("bundle", "default", -7, "thread")
    (data.interruptionLevel, data.source, data.deviceId) = (2, .extension, "device")
    (data.timezone, data.timezoneOffset) = (-5, -330)
    var silent = SilentPushData(timestamp: 6, label: "label")
    (silent.payload, silent.deviceId, silent.pushId) = ("{\"a\":1}", "device", "push")
    var token = NotificationTokenData()
    (token.token, token.deviceId) = ("00ff", "device")
    #expect(
      try spool.append([[.notification(data), .silentPush(silent)], [.token(token)]], key: Keys.raw) == 2)
    let spooled = try store()
    let direct = try NotificationStore(.init(path: folder.path("direct"), key: Keys.raw))
    try direct.record(PushRecords(notification: data, silentPush: silent))
    try direct.tokens.insert(token)
    for table in NotificationStore.tables {
      func rows(_ store: NotificationStore) throws -> [String] {
        var lines = ""
        try store.export(table, format: .jsonLines) { lines += String(decoding: $0, as: UTF8.self) }
        return lines.split(separator: "\n").map(String.init)
      }
      #expect(try rows(spooled) == rows(direct))
      #expect(try rows(spooled).count == 1)
    }
    func digest(_ store: NotificationStore) throws -> String? {
      try store.database.read { try $0.text("SELECT hex(contentDigest) FROM ios_notification") }
    }
    #expect(try digest(spooled) == digest(direct))
  }

  @Test("They are imported in the order in which they arrived; of one time, as each process wrote them") func order()
    throws
  {
    try store().close()
    try append(5, 3)
    try append(4, 1)
    var sameTime: [[SpoolEntry]] = []
    for number in 10..<30 {
      var data = NotificationData(timestamp: 1_764_460_861_009)
      data.notificationId = "n\(number)"
      sameTime.append([.notification(data)])
    }
    #expect(try spool.append(sameTime, key: Keys.raw) == 20)
    let store = try store()
    #expect(try identifiers(store) == (["n1", "n3", "n4", "n5"] + (10..<30).map { "n\($0)" }))
    let orders = [(1, "b", 1), (2, "a", 2), (2, "b", 1), (2, "b", 10)].map {
      SpooledPush.Order(arrival: $0.0, writer: $0.1, sequence: $0.2)
    }
    #expect(orders.reversed().sorted() == orders)
  }

  @Test("Nothing of it can be read on the disk or from its names, and only its owner may") func encrypted() throws {
    let umaskBefore = umask(0)
    defer { umask(umaskBefore) }
    try append(1, 2)
    for (name, bytes) in try files() {
      for text in [Self.secret, "ios_notification", "n1", "body", "recordId"] {
        #expect(Data(bytes).range(of: Data(text.utf8)) == nil)
      }
      #expect(name.utf8.count == 32 && name.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) })
      let mode = try FileManager.default.attributesOfItem(atPath: spool.path + "/" + name)[.posixPermissions]
      #expect((mode as? NSNumber)?.intValue == 0o600)
    }
    let mode = try FileManager.default.attributesOfItem(atPath: spool.path)[.posixPermissions]
    #expect((mode as? NSNumber)?.intValue == 0o700)
  }

  @Test("No name, salt, nonce or ciphertext comes twice, also of one push written again and again") func unique() throws
  {
    let push = notification(1)
    let count = 100
    for _ in 0..<2 { #expect(try spool.append((0..<count / 2).map { _ in push }, key: Keys.raw) == count / 2) }
    let files = try files()
    #expect(files.count == count)
    func distinct(_ range: Range<Int>) -> Int { Set(files.values.map { Array($0[range]) }).count }
    #expect(distinct(8..<40) == count)
    #expect(distinct(SpoolFile.headerSize..<SpoolFile.headerSize + SpoolFile.nonceSize) == count)
    #expect(distinct(68..<100) == count)
  }

  @Test("Each new folder and file is protected while it is empty") func protection() throws {
    var protected: [String] = []
    _ = try spool.append([notification(1), notification(2)], key: Keys.raw) { path in
      let isFolder = path.hasSuffix(".spool")
      #expect(isFolder ? folder.names == ["store.spool"] : FileSystem.size(path) == 0 && access(path, F_OK) == 0)
      protected.append(isFolder ? "folder" : "file")
    }
    #expect(protected == ["folder", "file", "file"])
  }

  @Test("With a passphrase nothing waits, and nothing is written") func passphrase() throws {
    #expect(throws: DatabaseError(.spoolUnavailable, "")) {
      try spool.append([notification(1)], key: Keys.passphrase)
    }
    #expect(folder.names == [])
  }

  @Test("A push that arrives again after a kill is not stored twice") func again() throws {
    try store().close()
    var silent = SilentPushData()
    silent.payload = "{}"
    // Without an identifier nothing would merge them.
    #expect(try spool.append([[.silentPush(silent)], notification(1)], key: Keys.raw) == 2)
    let before = try files()
    try store().close()
    mkdir(spool.path, 0o700)
    for (name, bytes) in before { try write(bytes, name) }
    let store = try store()
    #expect(store.spool.taken == 2)
    #expect(try store.silentPushes.count() == 1 && store.notifications.count() == 1)
  }

  @Test("A push that the app has recorded as well stays one row") func merged() throws {
    let first = try store()
    let push = notification(1)
    guard case .notification(var data)? = push.first else {
      Issue.record("the push has no notification")
      return
    }
    (data.source, data.recordId) = (.foreground, "")
    try first.record(PushRecords(notification: data))
    try first.close()
    #expect(try spool.append([push], key: Keys.raw) == 1)
    let second = try store()
    #expect(try second.notifications.count() == 1)
    #expect(try second.notifications.page(limit: 1).first?.source == .foreground)
  }

  @Test("A push that the store refuses does not keep the others back, and is kept") func refused() throws {
    let store = try store()
    try store.database.write {
      // All have one title.
      try $0.execute("CREATE UNIQUE INDEX first ON ios_notification (title) WHERE notificationId IN ('n1', 'n2')")
    }
    try append(1, 2, 3)
    let report = store.takeSpoolIn()
    #expect(report.taken == 2 && report.damaged == 1 && !report.isSomethingLeft)
    #expect(try identifiers(store) == ["n1", "n3"])
    #expect(damaged.count == 1)
  }

  // MARK: Limits

  @Test("More than one commit's files are imported, in order") func severalCommits() throws {
    try store().close()
    let count = NotificationSpool.filesInCommit + 1
    try plant(0..<count)
    let store = try store()
    #expect(store.spool.taken == count)
    #expect(try identifiers(store) == (0..<count).map { "n\($0)" })
  }

  @Test("A push too large, and one too many by size, are refused; how many were kept is said") func sizes() throws {
    func large(_ size: Int) -> [SpoolEntry] {
      var data = SilentPushData()
      data.payload = String(repeating: "x", count: size)
      return [.silentPush(data)]
    }
    #expect(throws: DatabaseError(.tooLarge, "")) { try spool.append([large(2 << 20)], key: Keys.raw) }
    #expect(folder.names == [])
    #expect(try spool.append([notification(1), large(2 << 20), notification(2)], key: Keys.raw) == 1)
    let many = (0..<17).map { _ in large(1_000_000) }
    #expect(try spool.append(many, key: Keys.raw) == 16)
    #expect(throws: DatabaseError(.tooManyWaiting, "")) { try spool.append([large(1_000_000)], key: Keys.raw) }
    let store = try store()
    #expect(store.spool.taken == 17 && store.spool.faults.isEmpty)
  }

  @Test("10,000 wait and no more; should there be more, all are imported") func count() throws {
    let limit = NotificationSpool.maximumCount
    mkdir(spool.path, 0o700)
    for number in 0..<limit - 1 { #expect(mknod(spool.path + "/\(number)", S_IFREG | 0o600, 0) == 0) }
    #expect(try spool.append([notification(1), notification(2)], key: Keys.raw) == 1)
    #expect(throws: DatabaseError(.tooManyWaiting, "")) { try spool.append([notification(2)], key: Keys.raw) }
    // One more, as another process may write at the same moment.
    try plant(2..<3)
    let store = try store()
    #expect(store.spool.taken == 2 && store.spool.damaged == limit - 1)
    #expect(try identifiers(store) == ["n1", "n2"])
    #expect(store.spool.faults == [DatabaseError(.spoolAltered, "")])
  }

  @Test("A new file takes another name where its own is taken, and replaces nothing") func names() throws {
    let names = Locked(["a", "a", "b"].map { String(repeating: $0, count: 32) })
    let spool = NotificationSpool(besideStore: path) { names.withLock { $0.removeFirst() } }
    #expect(try spool.append([notification(1)], key: Keys.raw) == 1)
    let first = try files()
    #expect(try spool.append([notification(2)], key: Keys.raw) == 1)
    #expect(try files().count == 2)
    #expect(try files()[String(repeating: "a", count: 32)] == first.values.first)
    #expect(try identifiers(store()) == ["n1", "n2"])
  }

  @Test("A full disk keeps what fits, and says how many that is", .enabled(if: SmallDisk.isAvailable))
  func fullDisk() throws {
    let disk = try SmallDisk(size: "256k")
    let spool = NotificationSpool(besideStore: disk.path("store"))
    let kept = try spool.append((0..<200).map(notification), key: Keys.raw)
    #expect((1..<200).contains(kept) && spool.count() == kept)
    #expect(throws: DatabaseError(.diskFull, "")) { try spool.append([notification(201)], key: Keys.raw) }
    let names = try FileManager.default.contentsOfDirectory(atPath: spool.path)
    #expect(names.count == kept)
  }

  // MARK: Other processes

  @Test("The process that imports or wipes is waited for, and reported when it takes too long") func busy() throws {
    try store().close()
    try append(1)
    let held = try #require(try SpoolFolder.open(spool.path))
    #expect(try held.lock(timeout: 0))
    #expect(spool.takeIn([try Keys.raw]) { _ in }.faults == [DatabaseError(.busy, "")])
    #expect(throws: DatabaseError(.busy, "")) { try spool.wipe() }
    // No push waits for it.
    try append(2)
    withExtendedLifetime(held) {}
  }

  @Test("A folder that goes away while a push is written is made again") func removedFolder() throws {
    var isFirst = true
    let path = spool.path
    let kept = try spool.append([notification(1)], key: Keys.raw) { _ in
      // An import elsewhere has removed the folder, which was empty.
      if isFirst { rmdir(path) }
      isFirst = false
    }
    #expect(kept == 1 && !isFirst)
    #expect(try identifiers(store()) == ["n1"])
  }

  @Test("What a killed process left under a temporary name is removed after an hour, and not before") func abandoned()
    throws
  {
    try store().close()
    try append(1)
    let temporary = spool.path + "/." + String(repeating: "c", count: 32)
    #expect(mknod(temporary, S_IFREG | 0o600, 0) == 0)
    #expect(spool.count() == 1)
    try store().close()
    #expect(access(temporary, F_OK) == 0)
    var times = [timeval(tv_sec: 1_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000, tv_usec: 0)]
    #expect(utimes(temporary, &times) == 0)
    try store().close()
    #expect(folder.names == ["store"])
  }

  @Test("Readers, secondary connections and a store that cannot be opened leave it alone") func untouched() throws {
    try store().close()
    try append(1)
    let before = try files()
    try NotificationStore(.init(path: path, key: try Keys.raw, access: .readOnly)).close()
    var guest = NotificationStore.Configuration(path: path, key: try Keys.raw, creating: false)
    guest.isGuest = true
    try NotificationStore(guest).close()
    #expect(throws: DatabaseError(.wrongKey, "")) { try store(EncryptionKey.random()) }
    _ = try StoreStatus(path: path, key: Keys.raw)
    _ = try StoreVerification(path: path, key: Keys.raw)
    #expect(try files() == before)
  }

  @Test("What an administrator spools belongs to the store's owner", .enabled(if: geteuid() == 0)) func owner() throws {
    try store().close()
    let nobody: uid_t = 65534
    #expect(chown(path, nobody, nobody) == 0)
    try append(1)
    for name in [spool.path] + (try files().keys.map { spool.path + "/" + $0 }) {
      var status = stat()
      #expect(stat(name, &status) == 0 && status.st_uid == nobody && status.st_gid == nobody)
    }
  }
}
