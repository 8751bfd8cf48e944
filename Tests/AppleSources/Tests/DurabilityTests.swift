import EncryptedSQLite
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

    private func values(_ connection: Connection) throws -> [Int64?] {
      try ["fullfsync", "checkpoint_fullfsync"].map { try pragma($0, connection) }
    }
  }
}
