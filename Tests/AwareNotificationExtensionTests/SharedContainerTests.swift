import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing
import com_awareframework_ios_sensor_notification

@testable import AwareNotificationExtension

@Suite("What app and extension share") struct SharedContainerTests {
  private let folder = TemporaryFolder()

  private func run(_ group: String, key: String = Keys.rawText) throws -> Program.Result {
    try Program.run(
      Program.helper, ["group", group, folder.write("key", key)], environment: ["XDG_DATA_HOME": folder.path])
  }

  @Test("A new store in a group, under a key with its salt, begins as SQLite's files do, where the library can do that")
  func readableHeader() throws {
    let container = folder.path("aware-groups/group.org.example")
    try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
    let salted = "x'\(String(repeating: "5a", count: 48))'"
    #expect(try run("group.org.example", key: salted).status == 0)
    let path = container + "/shared.sqlite"
    let magic = Data("SQLite format 3\0".utf8)
    let isReadable = try Data(contentsOf: URL(fileURLWithPath: path)).starts(with: magic)
    #expect(isReadable == Connection.librarySupportsReadableHeaders)
    let store = try NotificationStore(.init(path: path, key: try EncryptionKey(salted), access: .readOnly))
    #expect(try store.notifications.count() == 1)
    try store.close()
  }

  @Test("So does one that takes over what the public sensor left in the app's own folder") func adoptedHeader() throws {
    let container = folder.path("aware-groups/group.org.example")
    for path in [container, folder.path("aware")] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    try PublicSensor.make(folder.path("aware/shared.sqlite"))
    let salted = "x'\(String(repeating: "5a", count: 48))'"
    #expect(try run("group.org.example", key: salted).status == 0)
    let store = try NotificationStore(
      .init(path: container + "/shared.sqlite", key: try EncryptionKey(salted), access: .readOnly))
    #expect(store.database.cipher?.hasReadableHeader == Connection.librarySupportsReadableHeaders)
    #expect(try store.notifications.count() > 1)
    try store.close()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("aware")).isEmpty)
  }

  @Test("Store and settings are in the group's folder, and the extension takes label and receipts from there")
  func group() throws {
    let container = folder.path("aware-groups/group.org.example")
    try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
    let result = try run("group.org.example")
    #expect(result.status == 0)
    #expect(result.lines.contains("label label of the app, receipts to https://localhost:1/receipt"))
    // Nobody listens there.
    #expect(result.lines.contains("failed connectionFailed"))
    let store = try NotificationStore(.init(path: container + "/shared.sqlite", key: try Keys.raw))
    let row = try #require(try store.notifications.page(limit: 2).first)
    #expect(row.label == "label of the app" && row.title == "title" && row.deviceId == store.deviceId)
    try store.close()
    #expect(Set(try FileManager.default.contentsOfDirectory(atPath: container)) == ["shared.sqlite", "settings.json"])
    let settings = try String(contentsOfFile: container + "/settings.json", encoding: .utf8)
    #expect(!settings.contains(Keys.rawText) && settings.contains("label of the app"))
  }

  /// It would wait for the lock, which its caller has.
  @Test("A label is set at once, and shared when the group's settings are free") func labelAtOnce() throws {
    let container = folder.path("aware-groups/group.org.example")
    try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
    let result = try Program.run(
      Program.helper, ["label", "group.org.example", folder.write("key", Keys.rawText)],
      environment: ["XDG_DATA_HOME": folder.path])
    #expect(result.lines == ["label none", "label later", "ok"], "\(result.errors)")
  }

  private func alone(_ push: String) throws {
    let result = try Program.run(
      Program.helper, ["alone", push, folder.write("key", Keys.rawText)], environment: ["XDG_DATA_HOME": folder.path])
    #expect(result.status == 0)
  }

  @Test("A store from before the group moves there, with what waits beside it, and is looked for no more")
  func moves() throws {
    let container = folder.path("aware-groups/group.org.example")
    try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
    try alone("first")
    let old = folder.path("aware/shared.sqlite")
    var sealed = NotificationData(timestamp: 5)
    sealed.notificationId = "sealed"
    #expect(try NotificationSpool(besideStore: old).append([[.notification(sealed)]], key: Keys.raw) == 1)
    let copy = try Data(contentsOf: URL(fileURLWithPath: old))
    let moved = try run("group.org.example")
    #expect(moved.status == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("aware")) == [])
    let path = container + "/shared.sqlite"
    func identifiers() throws -> [String] {
      let store = try NotificationStore(.init(path: path, key: try Keys.raw, access: .readOnly))
      defer { try? store.close() }
      return try store.notifications.page(limit: 9).map(\.notificationId)
    }
    #expect(try identifiers() == ["first", "sealed", "push"])
    // As after a kill between the copy and the removal.
    try copy.write(to: URL(fileURLWithPath: old))
    #expect(try run("group.org.example").status == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("aware")) == [])
    // A store with records of its own is not removed, and said to be there.
    try alone("second")
    #expect(try run("group.org.example").output.contains("has records that it lacks"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("aware")) == ["shared.sqlite"])
    #expect(try identifiers() == ["first", "sealed", "push"])
  }

  @Test(
    "What waits and cannot be imported moves to the group with the store, and is reported; a way that is barred stops it"
  )
  func movesSpool() throws {
    let container = folder.path("aware-groups/group.org.example")
    try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
    try alone("first")
    let old = folder.path("aware/shared.sqlite")
    // Nothing is to be lost by a store in the group that hides this one.
    #expect(mkfifo(old + ".spool", 0o600) == 0)
    let barred = try run("group.org.example")
    #expect(barred.output.contains("is no folder"))
    #expect(
      Set(try FileManager.default.contentsOfDirectory(atPath: folder.path("aware"))) == [
        "shared.sqlite", "shared.sqlite.spool",
      ])
    #expect(!FileManager.default.fileExists(atPath: container + "/shared.sqlite"))
    unlink(old + ".spool")
    let other = EncryptionKey.random()
    var data = NotificationData(timestamp: 5)
    data.notificationId = "foreign"
    let spool = NotificationSpool(besideStore: old)
    #expect(try spool.append([[.notification(data)]], key: other) == 1)
    try Data([1]).write(to: URL(fileURLWithPath: spool.path + "/junk"))
    // What the extension could not store waits in the group by now.
    #expect(FileManager.default.fileExists(atPath: container + "/shared.sqlite.spool"))
    let moved = try run("group.org.example")
    #expect(moved.status == 0 && moved.output.contains("it exists already"))
    #expect(FileManager.default.fileExists(atPath: old))
    // Imported by now, it is in the way no more.
    let again = try run("group.org.example")
    #expect(again.output.contains("under another key") && again.output.contains("not the spool's own"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("aware")) == [])
    let path = container + "/shared.sqlite"
    let store = try NotificationStore(.init(path: path, key: Keys.raw, previousKey: other))
    #expect(try store.notifications.page(limit: 9).map(\.notificationId).contains("foreign"))
    #expect(store.spool.damaged == 1)
    try store.close()
  }

  @Test(
    "A group that is not there, or no name of one, is an error, and nothing is stored elsewhere",
    arguments: ["group.org.example", "", ".", "..", "a/b"])
  func unknown(_ name: String) throws {
    let result = try run(name)
    #expect(result.output.contains("failed invalidConfiguration"))
    #expect(result.output.contains("there is no app group"))
    #expect(folder.names == ["key"])
  }
}

@Suite("A suspended sensor") struct SuspensionTests {
  /// What the kernel's lock table and this process's own descriptors say of the folder's files.
  private func isHeld(_ folder: TemporaryFolder) throws -> Bool {
    let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    if descriptors.contains(where: {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?.hasPrefix(folder.path)
        == true
    }) {
      return true
    }
    let table = try String(contentsOfFile: "/proc/locks", encoding: .utf8)
    let inodes = try folder.names.compactMap {
      (try FileManager.default.attributesOfItem(atPath: folder.path($0))[.systemFileNumber] as? NSNumber)?.intValue
    }
    return inodes.contains { table.contains(":\($0) ") }
  }

  private func sensor(_ folder: TemporaryFolder) -> NotificationSensor {
    NotificationSensor(
      NotificationSensor.Config().apply { config in
        config.dbType = .sqlite
        config.dbPath = folder.path("store")
        config.dbEncryptionKey = Keys.rawText
        config.callbackQueue = DispatchQueue(label: "callbacks")
      }, log: { _ in })
  }

  private func push(_ sensor: NotificationSensor) -> UIBackgroundFetchResult? {
    let result = Locked<UIBackgroundFetchResult?>(nil)
    let done = DispatchSemaphore(value: 0)
    sensor.handleSilentPush(userInfo: ["aps": ["content-available": 1]]) { outcome in
      result.replace(with: outcome)
      done.signal()
    }
    done.wait()
    return result.snapshot
  }

  @Test("holds no lock and no file, stores what comes all the same, and goes on after resume") func suspended() throws {
    let folder = TemporaryFolder()
    let sensor = sensor(folder)
    sensor.start()
    #expect(push(sensor) == .newData)
    #expect(try isHeld(folder))
    for round in 1...3 {
      sensor.suspend()
      #expect(try !isHeld(folder))
      #expect(folder.names == ["store"])
      #expect(push(sensor) == .newData)
      sensor.suspend()
      #expect(try !isHeld(folder))
      sensor.resume()
      #expect(push(sensor) == .newData)
      let store = try NotificationStore(.init(path: folder.path("store"), key: try Keys.raw, access: .readOnly))
      #expect(try store.silentPushes.count() == 1 + 2 * round)
      try store.close()
    }
    sensor.suspend()
  }

  @Test("Between two calls no transaction is open: another process gets the write lock at once") func noTransaction()
    throws
  {
    let folder = TemporaryFolder()
    let sensor = sensor(folder)
    sensor.start()
    let other = try NotificationStore(.init(path: folder.path("store"), key: try Keys.raw))
    func isFree() throws -> Bool {
      try other.database.withWriter { connection in
        try connection.execute("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK; PRAGMA busy_timeout = 5000")
        return true
      }
    }
    sensor.setDeviceToken(Data([1, 2]))
    for body in [
      { _ = self.push($0) }, { $0.set(label: "label") }, { $0.handle(ReceivedNotification(identifier: "a")) },
      { $0.wipe() }, { $0.sync(force: true) }, { $0.resume() }, { $0.suspend() },
    ] as [(NotificationSensor) -> Void] {
      body(sensor)
      let idle = DispatchSemaphore(value: 0)
      sensor.whenIdle { idle.signal() }
      idle.wait()
      #expect(try isFree())
    }
    try other.close()
  }

  @Test("What the extension sealed meanwhile is taken in at resume") func takesIn() throws {
    let folder = TemporaryFolder()
    let sensor = sensor(folder)
    sensor.start()
    sensor.suspend()
    let pushes: [[SpoolEntry]] = [[.notification(NotificationData(timestamp: 5))]]
    #expect(try NotificationSpool(besideStore: folder.path("store")).append(pushes, key: Keys.raw) == 1)
    sensor.resume()
    sensor.suspend()
    let store = try NotificationStore(.init(path: folder.path("store"), key: try Keys.raw, access: .readOnly))
    #expect(try store.notifications.count() == 1)
    try store.close()
  }
}
