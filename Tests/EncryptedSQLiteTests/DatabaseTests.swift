import EncryptedSQLite
import Foundation
import TestSupport
import Testing

@Suite struct DatabaseTests {
  let folder = TemporaryFolder()
  var path: String { folder.path("store") }

  private func insert(_ text: String) -> @Sendable (Connection) throws -> Void {
    { try $0.run("INSERT INTO item (text) VALUES (?)", .text(text)) }
  }

  // MARK: Reading and writing

  @Test("A reader does not wait for an open write transaction, and does not see it")
  func readerBesideWriter() throws {
    let database = try SmallStore.open(path, Keys.raw, busyTimeout: 0)
    try database.write { connection in
      try insert("one")(connection)
      #expect(try SmallStore.texts(connection) == ["one"])
      #expect(try database.read { try SmallStore.texts($0) }.isEmpty)
    }
    #expect(try database.read { try SmallStore.texts($0) } == ["one"])
  }

  @available(macOS 15, iOS 18, *)
  @Test("A writer does not wait for an open reader, which keeps its view")
  func writerBesideReader() async throws {
    let database = try SmallStore.open(path, Keys.raw, busyTimeout: 0)
    let (entered, goOn) = (Gate(), Gate())
    let reading = StepByStep().start {
      try await database.read { connection in
        let before = try SmallStore.texts(connection)
        entered.open()
        goOn.pass()
        return (before, try SmallStore.texts(connection))
      }
    }
    await entered.pass()
    try await database.write(insert("one"))
    goOn.open()
    let seen = try await reading.value
    #expect(seen.0.isEmpty && seen.1.isEmpty)
    #expect(try await database.read { try SmallStore.texts($0) } == ["one"])
  }

  @Test func asynchronousCallers() async throws {
    let database = try SmallStore.open(path, Keys.raw)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<50 { group.addTask { try await database.write(insert("\(number)")) } }
      try await group.waitForAll()
    }
    let texts = try await database.read { try SmallStore.texts($0) }
    #expect(Set(texts) == Set((0..<50).map(String.init)) && texts.count == 50)
  }

  @Test("A read cannot write", arguments: [Connection.Access.readWrite, .readOnly])
  func readCannotWrite(access: Connection.Access) throws {
    try SmallStore.make(path, Keys.raw)
    let database = try Database(path: path, key: Keys.raw, options: .init(access: access), creating: false) { _ in }
    #expect(Keys.error { try database.read(insert("lost")) } == .readOnly)
    if access == .readOnly { #expect(Keys.error { try database.write(insert("lost")) } == .readOnly) }
    #expect(try database.read { try SmallStore.texts($0) } == ["one", "two"])
  }

  @Test("What throws is rolled back")
  func rollback() async throws {
    struct Refusal: Error {}
    let database = try SmallStore.open(path, Keys.raw)
    await #expect(throws: Refusal.self) {
      try await database.write { connection in
        try insert("lost")(connection)
        throw Refusal()
      }
    }
    #expect(try await database.read { try SmallStore.texts($0) }.isEmpty)
  }

  @Test("A cancelled task's rows are rolled back, and the next writer goes on")
  func cancelling() async throws {
    let database = try SmallStore.open(path, Keys.raw)
    let (entered, goOn) = (Gate(), Gate())
    let task = Task {
      try await database.write { connection in
        try insert("lost")(connection)
        entered.open()
        goOn.pass()
        _ = try connection.integer(ConnectionQueueTests.endless)
      }
    }
    await entered.pass()
    task.cancel()
    goOn.open()
    let result = await task.result
    #expect(Keys.error { try result.get() } == .cancelled)
    try await database.write(insert("kept"))
    #expect(try await database.read { try SmallStore.texts($0) } == ["kept"])
  }

  @Test("Work outside a transaction, for what cannot run inside one")
  func withWriter() throws {
    let database = try SmallStore.open(path, Keys.raw)
    try database.withWriter { connection in
      #expect(!connection.isInTransaction)
      try connection.execute("VACUUM")
    }
  }

  @Test func closed() throws {
    let database = try SmallStore.open(path, Keys.raw)
    try database.write(insert("one"))
    _ = try database.read { try SmallStore.texts($0) }
    try database.close()
    try database.close()
    #expect(folder.names == ["store"])
    #expect(Keys.error { try database.write(insert("lost")) } == .closed)
    #expect(Keys.error { _ = try database.read { try SmallStore.texts($0) } } == .closed)
    #expect(Keys.error { try database.withWriter { _ in } } == .closed)
    #expect(folder.names == ["store"])
  }

  @Test("Where the reader cannot be closed, the writer is; a second call closes the rest")
  func closedInPart() throws {
    let database = try SmallStore.open(path, Keys.raw)
    try database.write(insert("one"))
    var kept: Statement?
    try database.read { try $0.withStatement("SELECT text FROM item") { kept = $0 } }
    #expect(Keys.error { try database.close() } == .busy)
    #expect(Keys.error { try database.write(insert("lost")) } == .closed)
    #expect(kept != nil)
    kept = nil
    try database.close()
    #expect(try SmallStore.texts(path, Keys.raw) == ["one"])
    #expect(folder.names == ["store"])
  }

  // MARK: Making

  @Test("What fails while a store is made leaves nothing")
  func failedCreation() throws {
    struct Refusal: Error {}
    for _ in 1...2 {
      #expect(throws: Refusal.self) {
        _ = try Database(path: path, key: Keys.raw, creating: true) { connection in
          try connection.execute(SmallStore.schema + ";" + SmallStore.noise)
          throw Refusal()
        }
      }
      #expect(folder.names.isEmpty)
    }
  }

  @Test("The log or journal of a store that stood there is not taken into a new one", arguments: ["-wal", "-journal"])
  func leftOverLog(_ suffix: String) throws {
    _ = folder.write("store" + suffix, "left over")
    let before = folder.contents
    for _ in 1...2 {
      #expect(Keys.error { _ = try SmallStore.open(path, Keys.raw) } == .alreadyExists)
      #expect(folder.contents == before)
    }
    // One without bytes is nothing.
    _ = folder.write("store" + suffix, "")
    try SmallStore.open(path, Keys.raw).close()
    #expect(try SmallStore.texts(path, Keys.raw).isEmpty)
  }

  @Test("Who comes second finds the first one's store, and leaves it as it is")
  func createdMeanwhile() throws {
    let isNew = try Database.create(path, key: Keys.raw) { connection in
      try SmallStore.make(path, Keys.salted, ["winner"])
      try connection.execute(SmallStore.schema)
    }
    #expect(!isNew)
    #expect(folder.names == ["store"])
    #expect(try SmallStore.texts(path, Keys.salted) == ["winner"])
  }

  @Test("No part of a new store is ever in the clear, nor in a file that others can read")
  func creationIsEncrypted() throws {
    let secret = String(repeating: "a plain secret ", count: 400)
    _ = try Database.create(path, key: Keys.raw) { connection in
      try connection.execute(SmallStore.schema)
      try connection.run("INSERT INTO item (text) VALUES (?)", .text(secret))
      for name in folder.names {
        #expect(name.hasPrefix("store.new-"))
        #expect(try FileManager.default.attributesOfItem(atPath: folder.path(name))[.posixPermissions] as? Int == 0o600)
      }
    }
    let database = try SmallStore.open(path, Keys.raw)
    try database.write(insert(secret))
    for (name, bytes) in folder.contents {
      #expect(bytes.range(of: Data("plain secret".utf8)) == nil, "\(name)")
      #expect(bytes.range(of: Data("SQLite format 3".utf8)) == nil, "\(name)")
      #expect(bytes.range(of: Data("CREATE TABLE".utf8)) == nil, "\(name)")
      #expect(try FileManager.default.attributesOfItem(atPath: folder.path(name))[.posixPermissions] as? Int == 0o600)
    }
  }

  @Test("The mode is 0600, whatever the umask")
  func modeOfANewStore() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryFolder()
      for mask: mode_t in [0, 0o777] {
        umask(mask)
        let path = folder.path("store-\(mask)")
        try SmallStore.make(path, Keys.raw)
        umask(0o022)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o600, "umask \(mask)")
      }
    }
  }
}
