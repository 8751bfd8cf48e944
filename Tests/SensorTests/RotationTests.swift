import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  @Suite("Rotation of the key") struct Rotation {
    private let bench = Bench()
    private let newText = "x'" + String(repeating: "5", count: 64) + "'"

    private func rotate(_ key: String) throws -> Result<RotationReport, AwareNotificationError>? {
      let results = Locked<[Result<RotationReport, AwareNotificationError>]>([])
      bench.sensor.rotateEncryptionKey(to: try EncryptionKey(key)) { result in results.withLock { $0.append(result) } }
      bench.settle()
      #expect(results.snapshot.count == 1)
      return results.snapshot.first
    }

    private func payloads(_ key: String) throws -> [String] {
      let store = try NotificationStore(.init(path: bench.path, key: try EncryptionKey(key), access: .readOnly))
      defer { try? store.close() }
      return try store.silentPushes.page(limit: 9).map(\.payload)
    }

    @Test("The sensor goes on under the new key, also after it was stopped") func goesOn() throws {
      _ = bench.push(["n": 1])
      let report = try #require(try rotate(newText)).get()
      #expect(report.method == .inPlace && !report.wasDone)
      #expect(bench.push(["n": 2]) == .newData)
      bench.sensor.stop()
      bench.settle()
      #expect(bench.push(["n": 3]) == .newData)
      #expect(try payloads(newText) == (1...3).map { #"{"n":\#($0)}"# })
      #expect(Keys.error { _ = try payloads(Keys.rawText) } == .wrongKey)
      bench.config.dbEncryptionKey = newText
      bench.sensor.start()
      #expect(bench.push(["n": 4]) == .newData)
      #expect(bench.observer.errors.snapshot.isEmpty)
    }

    @Test("A store under a passphrase that resembles a raw key goes on, is told of, and no store gets such a key")
    func resemblance() throws {
      let near = Keys.rawText + " "
      #expect(try NotificationStore.create(bench.path, key: EncryptionKey.passphrase(near)))
      bench.config.dbEncryptionKey = near
      #expect(bench.push(["n": 1]) == .newData)
      let told = bench.observer.errors.snapshot
      #expect(told.count == 1 && told.first?.code == .invalidRawKey)
      #expect(told.first?.message.contains("passphrase (resembles a raw key)") == true)
      #expect(Keys.error { _ = try rotate(" " + newText)?.get() } == .invalidRawKey)
      #expect(bench.push(["n": 2]) == .newData)
      #expect(try payloads(near).count == 2)
    }

    @Test("Asked for again, a rotation is confirmed") func again() throws {
      _ = bench.push(["n": 1])
      #expect(try #require(try rotate(newText)).get().wasDone == false)
      #expect(try #require(try rotate(newText)).get().wasDone)
      #expect(bench.push(["n": 2]) == .newData)
      #expect(try payloads(newText).count == 2)
      #expect(bench.observer.errors.snapshot.isEmpty)
    }

    @Test(
      "A key that a store with a readable header cannot have is not even staged",
      .enabled(if: ReadableHeader.isAvailable))
    func keyWithoutSalt() throws {
      let keyStore = FileKeyStore(path: bench.folder.path("key"))
      try KeyFile.create(keyStore.path, Keys.salted)
      #expect(try NotificationStore.create(bench.path, key: Keys.salted, hasReadableHeader: true))
      bench.config.dbEncryptionKey = nil
      bench.config.encryptionKeyStore = keyStore
      #expect(try #require(try rotate(newText)).failure?.code == .readableHeaderUnavailable)
      #expect(try keyStore.load().staged == nil)
      #expect(bench.push(["n": 1]) == .newData)
    }

    @Test("A rotation that is not possible leaves the old key, and says why") func refused() throws {
      _ = bench.push(["n": 1])
      let keyFile = bench.folder.write("key", Keys.rawText)
      let holder = try Program.start(
        Program.helper, ["hold", bench.path, keyFile, "DELETE FROM ios_silent_push WHERE 0"])
      #expect(holder.waitForLine("holding"))
      #expect(try #require(try rotate(newText)).failure?.code == .busy)
      holder.closeInput()
      #expect(holder.finish().status == 0)
      #expect(bench.push(["n": 2]) == .newData)
      #expect(try payloads(Keys.rawText).count == 2)
      #expect(bench.observer.errors.snapshot.map(\.code) == [.busy])
    }

    @Test("dbPreviousEncryptionKey: a rotation that was cut short is finished at the next opening") func previous()
      throws
    {
      _ = bench.push(["n": 1])
      bench.sensor.stop()
      bench.config.dbPreviousEncryptionKey = Keys.rawText
      bench.config.dbEncryptionKey = newText
      #expect(bench.push(["n": 2]) == .newData)
      #expect(try payloads(newText).count == 2)
      #expect(bench.observer.errors.snapshot.isEmpty)
      #expect(!"\(bench.config)".contains("0123456789abcdef"))
    }

    @Test("A rotation that cannot be finished now is reported, and the store is used under its previous key")
    func pending() throws {
      _ = bench.push(["n": 1])
      bench.sensor.stop()
      bench.settle()
      bench.config.dbPreviousEncryptionKey = Keys.rawText
      bench.config.dbEncryptionKey = newText
      let reader = try Connection.open(bench.path, key: try Keys.raw)
      try reader.writeTransaction {
        try reader.execute("DELETE FROM ios_silent_push WHERE id = 0")
        bench.sensor.start()
        bench.settle()
      }
      try reader.close()
      #expect(bench.observer.errors.snapshot.map(\.code) == [.rotationPending])
      #expect(bench.push(["n": 2]) == .newData)
      #expect(try payloads(Keys.rawText).count == 2)
    }

    // MARK: With a key store

    private func keep() -> FileKeyStore {
      let keyStore = FileKeyStore(path: bench.folder.path("key"))
      bench.config.dbEncryptionKey = nil
      bench.config.encryptionKeyStore = keyStore
      return keyStore
    }

    @Test("A key store makes a key with a new store, and keeps the new one of a rotation") func keyStore() throws {
      let keyStore = keep()
      #expect(bench.push(["n": 1]) == .newData)
      let first = try keyStore.load()
      #expect(first.current.kind == .rawKey && first.staged == nil)
      _ = try #require(try rotate(newText)).get()
      #expect(try keyStore.load() == StoredKeys(current: EncryptionKey(newText)))
      #expect(bench.push(["n": 2]) == .newData)
      bench.sensor.stop()
      #expect(bench.push(["n": 3]) == .newData)
      #expect(try payloads(newText).count == 3)
    }

    @Test("The old key is kept for as long as something that it may have sealed waits beside the store")
    func sealedUnderOldKey() throws {
      let keyStore = keep()
      _ = bench.push(["n": 1])
      bench.sensor.suspend()
      let (old, new) = (try keyStore.load().current, try EncryptionKey(newText))
      try keyStore.stage(new)
      _ = try Database.rotateEncryptionKey(of: bench.path, from: old, to: new)
      let spool = NotificationSpool(besideStore: bench.path)
      #expect(try spool.append([[.notification(NotificationData(timestamp: 5))]], key: old) == 1)
      rename(spool.path, bench.folder.path("sealed"))
      mkfifo(spool.path, 0o600)
      #expect(bench.push(["n": 2]) == .newData)
      bench.sensor.suspend()
      #expect(try keyStore.load() == StoredKeys(current: old, staged: new))
      unlink(spool.path)
      rename(bench.folder.path("sealed"), spool.path)
      bench.sensor.resume()
      bench.sensor.suspend()
      #expect(try keyStore.load() == StoredKeys(current: new))
      let store = try NotificationStore(.init(path: bench.path, key: new, access: .readOnly))
      #expect(try store.notifications.count() == 1)
      try store.close()
    }

    @Test("A rotation cut before the change: the next opening finishes it, and the key store has one key")
    func cutBefore() throws {
      let keyStore = keep()
      _ = bench.push(["n": 1])
      bench.sensor.stop()
      bench.settle()
      try keyStore.stage(try EncryptionKey(newText))
      #expect(bench.push(["n": 2]) == .newData)
      #expect(try keyStore.load() == StoredKeys(current: EncryptionKey(newText)))
      #expect(try payloads(newText).count == 2)
    }

    @Test("A rotation cut after the change: the next opening confirms it") func cutAfter() throws {
      let keyStore = keep()
      _ = bench.push(["n": 1])
      bench.sensor.stop()
      bench.settle()
      try keyStore.stage(try EncryptionKey(newText))
      _ = try Database.rotateEncryptionKey(of: bench.path, from: keyStore.load().current, to: EncryptionKey(newText))
      #expect(bench.push(["n": 2]) == .newData)
      #expect(try keyStore.load() == StoredKeys(current: EncryptionKey(newText)))
    }

    @Test("A rotation that another process finished first ends well, and the key store keeps the new key")
    func finishedElsewhere() throws {
      let keyStore = keep()
      _ = bench.push(["n": 1])
      let old = try keyStore.load().current
      let new = try EncryptionKey(newText)
      // What an extension would do with the staged key.
      try keyStore.stage(new)
      _ = try Database.rotateEncryptionKey(of: bench.path, from: old, to: new)
      try keyStore.promote()
      _ = try #require(try rotate(newText))
      _ = bench.push(["n": 2])
      #expect(bench.push(["n": 3]) == .newData)
      #expect(try keyStore.load() == StoredKeys(current: new))
      #expect(try payloads(newText) == (1...3).map { #"{"n":\#($0)}"# })
    }

    @Test("A key store that cannot promote leaves both keys, and the next opening promotes") func promoteFails() throws
    {
      final class Failing: EncryptionKeyStore {
        let inner: FileKeyStore
        let fails = EncryptedSQLite.Locked(true)
        init(_ inner: FileKeyStore) { self.inner = inner }
        func load() throws -> StoredKeys { try inner.load() }
        func create() throws -> EncryptionKey { try inner.create() }
        func stage(_ new: EncryptionKey) throws { try inner.stage(new) }
        func promote() throws {
          if fails.snapshot, try inner.load().staged != nil { throw DatabaseError(.keyUnavailable, "not now") }
          try inner.promote()
        }
        func discard() throws { try inner.discard() }
      }
      let keyStore = Failing(keep())
      bench.config.encryptionKeyStore = keyStore
      _ = bench.push(["n": 1])
      #expect(try #require(try rotate(newText)).failure?.code == .rotationUnconfirmed)
      #expect(try keyStore.load().staged == EncryptionKey(newText))
      #expect(try #require(try rotate(newText)).failure?.code == .rotationUnconfirmed)
      keyStore.fails.withLock { $0 = false }
      #expect(try #require(try rotate(newText)).get().wasDone)
      #expect(try keyStore.load() == StoredKeys(current: EncryptionKey(newText)))
      #expect(bench.push(["n": 2]) == .newData)
      #expect(try payloads(newText).count == 2)
    }

    @Test("A store whose key is lost is an error, and makes no new key") func lost() throws {
      _ = bench.push(["n": 1])
      bench.sensor.stop()
      bench.settle()
      _ = keep()
      let before = bench.folder.contents
      #expect(bench.push(["n": 2]) == .failed)
      #expect(bench.observer.errors.snapshot.map(\.code) == [.keyLost])
      #expect(bench.folder.contents == before)
    }

    @Test("A key that cannot be read now is an error, and makes no new key") func unavailable() throws {
      struct Locked: EncryptionKeyStore {
        func load() throws -> StoredKeys { throw DatabaseError(.keyUnavailable, "locked") }
        func create() throws -> EncryptionKey { throw DatabaseError(.alreadyExists, "must not be called") }
        func stage(_ new: EncryptionKey) throws {}
        func promote() throws {}
        func discard() throws {}
      }
      bench.config.dbEncryptionKey = nil
      bench.config.encryptionKeyStore = Locked()
      #expect(bench.push(["n": 1]) == .failed)
      #expect(bench.observer.errors.snapshot.map(\.code) == [.keyUnavailable])
      #expect(bench.folder.names == [])
    }

    @Test("A key and a key store, or a key store with NONE, is a configuration error") func both() {
      _ = keep()
      bench.config.dbEncryptionKey = newText
      #expect(bench.push() == .failed)
      bench.config.dbEncryptionKey = nil
      bench.config.dbType = .NONE
      #expect(bench.push() == .failed)
      #expect(bench.observer.errors.snapshot.map(\.code) == [.invalidConfiguration, .invalidConfiguration])
      #expect(bench.folder.names == [])
    }
  }
}
