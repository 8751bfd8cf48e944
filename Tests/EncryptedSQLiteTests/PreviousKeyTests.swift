import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// Who opens a file with two keys, of which either may be in force.
@Suite struct PreviousKeyTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path("store.db") }
  private let new = "x'" + String(repeating: "5", count: 64) + "'"

  private func open(
    _ key: EncryptionKey, previous: EncryptionKey?, _ access: Connection.Access = .readWrite, busyTimeout: Double = 5
  ) throws -> Database {
    try Database(
      path: path, key: key, previous: previous, options: .init(access: access, busyTimeout: busyTimeout),
      creating: false
    ) { try $0.execute(SmallStore.schema) }
  }

  @Test func theNewKeyInForceIsUsed() throws {
    try SmallStore.make(path, EncryptionKey(new))
    let database = try open(EncryptionKey(new), previous: Keys.raw)
    #expect(!database.isRotationPending)
    #expect(try database.read { try SmallStore.texts($0) } == ["one", "two"])
  }

  @Test func aWriterFinishesTheRotation() throws {
    try SmallStore.make(path, Keys.raw)
    let database = try open(EncryptionKey(new), previous: Keys.raw)
    #expect(!database.isRotationPending)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('three')") }
    #expect(try database.read { try SmallStore.texts($0) } == ["one", "two", "three"])
    try database.close()
    #expect(Keys.error { _ = try Connection.open(path, key: Keys.raw) } == .wrongKey)
    #expect(try SmallStore.texts(path, EncryptionKey(new)) == ["one", "two", "three"])
  }

  @Test func aReaderReadsUnderThePreviousKeyAndChangesNothing() throws {
    try SmallStore.make(path, Keys.raw)
    let before = folder.contents
    let database = try open(EncryptionKey(new), previous: Keys.raw, .readOnly)
    #expect(database.isRotationPending)
    #expect(try database.read { try SmallStore.texts($0) } == ["one", "two"])
    try database.close()
    #expect(folder.contents == before)
  }

  @Test func aWriterThatCannotFinishGoesOnUnderThePreviousKey() throws {
    try SmallStore.make(path, Keys.raw)
    let keyFile = folder.write("key", Keys.rawText)
    let holder = try Program.start(Program.helper, ["hold", path, keyFile, "DELETE FROM item WHERE id = 0"])
    #expect(holder.waitForLine("holding"))
    let database = try open(EncryptionKey(new), previous: Keys.raw, busyTimeout: 0.05)
    #expect(database.isRotationPending)
    #expect(try database.read { try SmallStore.texts($0) } == ["one", "two"])
    holder.closeInput()
    #expect(holder.finish().status == 0)
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('three')") }
    // Finished by another process meanwhile.
    _ = try Database.rotateEncryptionKey(of: path, from: Keys.raw, to: EncryptionKey(new))
    #expect(try database.read { try SmallStore.texts($0) } == ["one", "two", "three"])
    try database.write { try $0.run("INSERT INTO item (text) VALUES ('four')") }
    #expect(!database.isRotationPending)
    try database.close()
    #expect(try SmallStore.texts(path, EncryptionKey(new)) == ["one", "two", "three", "four"])
  }

  @Test func withNeitherKeyInForceTheErrorIsThatOfTheFirst() throws {
    try SmallStore.make(path, Keys.passphrase)
    let before = folder.contents
    #expect(Keys.error { _ = try open(EncryptionKey(new), previous: Keys.raw) } == .wrongKey)
    #expect(folder.contents == before)
  }
}
