import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  @Suite("A plaintext store of the public sensor") struct Adoption {
    private let bench = Bench()

    @Test("is taken over at the first opening, and nothing of it stays readable") func adopted() throws {
      try PublicSensor.make(bench.path, isKilled: true)
      #expect(bench.push(["n": 1]) == .newData)
      #expect(try bench.stored { try $0.notifications.count() } == 4)
      #expect(try bench.stored { try $0.silentPushes.page(limit: 9).map(\.payload).last } == #"{"n":1}"#)
      bench.sensor.stop()
      bench.settle()
      #expect(bench.folder.names == ["store.sqlite"])
      #expect(PublicSensor.plaintext(in: bench.folder.contents) == [])
    }

    @Test("is taken over with the public sensor's cursor and device id") func cursorAndDeviceId() throws {
      let defaults: [String: Any] = [
        "com.aware.ios.sensor.core.key.deviceid": "the-device",
        "aware.sync.task.last_uploaded_id.ios_notification": 2,
        "aware.sync.task.last_uploaded_id.ios_notification_token": -1,
      ]
      try PublicSensor.make(bench.path, isKilled: false)
      let store = try #require(try StoreSettings(bench.config, publicSensor: .init { defaults[$0] })?.open())
      #expect(store.deviceId == "the-device")
      try store.close()
      let status = try StoreStatus(path: bench.path, key: try Keys.raw)
      #expect(status.tables.map(\.pending) == [2, 1, 1])
      #expect(status.tables.map(\.count) == [4, 1, 1])
    }

    @Test("sends everything where the public sensor's cursor is of another file, and reports that")
    func foreignCursor() throws {
      let cursor = "aware.sync.task.last_uploaded_id."
      let defaults: [String: Any] = [cursor + "ios_notification": 13, cursor + "ios_silent_push": 1]
      try PublicSensor.make(bench.path, isKilled: false)
      var reported: [DatabaseError] = []
      let settings = try StoreSettings(bench.config, publicSensor: .init { defaults[$0] })
      try settings?.open { reported.append($0) }.close()
      #expect(reported.map(\.code) == [.foreignCursor])
      #expect(reported.first?.message.contains("ios_notification is 13,") == true)
      let status = try StoreStatus(path: bench.path, key: try Keys.raw)
      #expect(status.tables.map(\.pending) == [4, 1, 0])
      // Not once more at the next opening.
      try settings?.open { reported.append($0) }.close()
      #expect(reported.count == 1)
    }

    @Test("is taken over with cursor and device id into an app group, too") func cursorInAppGroup() async {
      await #expect(processExitsWith: .success) {
        let folder = TemporaryFolder()
        setenv("XDG_DATA_HOME", folder.path, 1)
        let group = folder.path("aware-groups/group.org.example")
        for path in [group, folder.path("aware")] {
          try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        try PublicSensor.make(folder.path("aware/shared.sqlite"))
        let config = NotificationSensor.Config()
        (config.dbType, config.dbPath, config.dbEncryptionKey) = (.sqlite, "shared", Keys.rawText)
        config.appGroupIdentifier = "group.org.example"
        let defaults: [String: Any] = [
          "com.aware.ios.sensor.core.key.deviceid": "the-device",
          "aware.sync.task.last_uploaded_id.ios_notification": 2,
        ]
        let store = try #require(try StoreSettings(config, publicSensor: .init { defaults[$0] })?.open())
        #expect(store.deviceId == "the-device")
        try store.close()
        let status = try StoreStatus(path: group + "/shared.sqlite", key: try Keys.raw)
        #expect(status.tables.map(\.pending) == [2, 1, 1] && status.tables.map(\.count) == [4, 1, 1])
      }
    }

    @Test("gives the store its records' device id, where there is no other") func ownDeviceId() throws {
      try PublicSensor.make(bench.path, isKilled: false)
      _ = bench.push()
      let newest = try bench.stored { try $0.notifications.page(limit: 9).max { $0.timestamp < $1.timestamp } }
      #expect(try bench.stored { $0.deviceId } == newest?.deviceId)
      #expect(bench.observer.silentPushes.snapshot.map(\.deviceId) == [newest?.deviceId])
    }

    @Test("is left alone when the policy says so") func refused() throws {
      bench.config.plaintextStorePolicy = .refuse
      try PublicSensor.make(bench.path, isKilled: false)
      let before = bench.folder.contents
      #expect(bench.push() == .failed)
      #expect(bench.observer.errors.snapshot.map(\.code) == [.notEncrypted])
      #expect(bench.folder.contents == before)
    }

    @Test("is left alone when other sensors have tables in it, which are named") func foreignTables() throws {
      try PublicSensor.make(bench.path, isKilled: false, "CREATE TABLE accelerometer (x REAL)")
      let before = bench.folder.contents
      #expect(bench.push() == .failed)
      let error = try #require(bench.observer.errors.snapshot.first)
      #expect(error.code == .foreignTables && error.message.contains("accelerometer"))
      #expect(bench.folder.contents == before)
    }

    @Test("that is left of an adoption cut short, and cannot be removed, is reported and does not shut the store")
    func leftover() throws {
      try PublicSensor.make(bench.path, isKilled: false)
      let plaintext = bench.folder.path("plaintext")
      try FileManager.default.copyItem(atPath: bench.path, toPath: plaintext)
      #expect(bench.push(["n": 1]) == .newData)
      bench.sensor.stop()
      bench.settle()
      // As if rows had been deleted before the adoption came to its end.
      let store = try NotificationStore(.init(path: bench.path, key: try Keys.raw))
      try store.wipe()
      try store.close()
      try FileManager.default.moveItem(atPath: plaintext, toPath: bench.path + ".adopting")
      #expect(bench.push(["n": 2]) == .newData)
      #expect(bench.observer.errors.snapshot.map(\.code) == [.adoptionIncomplete])
      let wipe = try Program.run(
        Program.tool,
        ["wipe", "--db", bench.path, "--yes", "--key-file", bench.folder.write("key", Keys.rawText)])
      #expect(wipe.status == 1 && wipe.errors.contains("run encrypt first"))
      #expect(FileManager.default.fileExists(atPath: bench.path + ".adopting"))
    }

    @Test("is taken over by a program under a configured name, where the public sensor would keep it") func byName()
      throws
    {
      let folder = TemporaryFolder()
      let keyFile = folder.write("key", Keys.rawText)
      try FileManager.default.createDirectory(atPath: folder.path("aware"), withIntermediateDirectories: true)
      try PublicSensor.make(folder.path("aware/aware_notification.sqlite"), isKilled: true)
      let result = try Program.run(
        Program.helper, ["sensor", "aware_notification", keyFile, "1"], environment: ["XDG_DATA_HOME": folder.path])
      #expect(result.output == "newData\nok\n", "\(result.errors)")
      let status = try StoreStatus(path: folder.path("aware/aware_notification.sqlite"), key: try Keys.raw)
      #expect(status.tables.map(\.count) == [4, 1, 2])
    }

    @Test("is taken over once by two sensors on one path") func twoSensors() throws {
      try PublicSensor.make(bench.path, isKilled: false)
      let other = Bench { $0.dbPath = bench.path }
      bench.sensor.start()
      other.sensor.start()
      #expect(bench.push() == .newData)
      #expect(other.push() == .newData)
      #expect(bench.observer.errors.snapshot.isEmpty && other.observer.errors.snapshot.isEmpty)
      #expect(try bench.stored { try $0.notifications.count() } == 4)
      #expect(try bench.stored { try $0.silentPushes.count() } == 3)
    }
  }
}
