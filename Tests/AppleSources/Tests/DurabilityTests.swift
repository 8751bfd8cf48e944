import EncryptedSQLite
import Foundation
import NotificationStore
import Testing

extension AppleSources {
  @Suite struct Durability {
    private let folder = TemporaryFolder()

    private func pragma(_ name: String, _ connection: Connection) throws -> Int64? {
      try connection.withStatement("PRAGMA " + name) { try $0.step() ? $0.int64(at: 0) : nil }
    }

    @Test("Each connection, for reading and for writing, has Apple's drives write to the medium") func fullSync() throws
    {
      let store = try NotificationStore(.init(path: folder.path("store.sqlite"), key: Keys.raw))
      defer { try? store.close() }
      let values = try [store.database.read(values), store.database.write(values)]
      #expect(values == [[1, 1], [1, 1]])
    }

    @Test("Where the system cannot rename without replacing, a push that waits gets its name by a link") func linked()
      throws
    {
      let path = folder.path("store.sqlite")
      let pushes: [[SpoolEntry]] = [[.notification(NotificationData(timestamp: 5))]]
      #expect(try NotificationSpool(besideStore: path).append(pushes, key: Keys.raw) == 1)
      #expect(try FileManager.default.contentsOfDirectory(atPath: path + ".spool").count == 1)
      let store = try NotificationStore(.init(path: path, key: Keys.raw))
      #expect(store.spool.taken == 1 && store.spool.faults.isEmpty)
      try store.close()
      for name in ["a", "b"] { try Data(name.utf8).write(to: URL(fileURLWithPath: folder.path(name))) }
      #expect(
        FileSystem.renameExclusively(folder.path("a"), in: AT_FDCWD, to: folder.path("b"), in: AT_FDCWD) == -1
          && errno == EEXIST)
      #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path("b"))) == Data("b".utf8))
    }

    private func values(_ connection: Connection) throws -> [Int64?] {
      try ["fullfsync", "checkpoint_fullfsync"].map { try pragma($0, connection) }
    }
  }
}
