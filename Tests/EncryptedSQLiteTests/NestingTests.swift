import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// Calls of a database from inside its own work. What could wait forever traps, in a process of its own.
@Suite struct NestingTests {
  private static let same = "inside the same store's own work"
  private static let opposite = "a write is made inside a read of the same store"

  private static func make() throws -> (TemporaryFolder, Database) {
    // A process that waits forever ends by a signal, without a message.
    alarm(30)
    let folder = TemporaryFolder()
    return (folder, try SmallStore.open(folder.path("store"), Keys.raw))
  }

  /// Calls `body` inside a read. The process is to end before the folder goes by itself.
  private static func insideRead(_ body: @escaping @Sendable (Database) throws -> Void) async throws {
    let (folder, database) = try make()
    try await database.read { _ in
      try FileManager.default.removeItem(atPath: folder.path)
      try body(database)
    }
  }

  private static func insideWrite(_ body: @escaping @Sendable (Database) throws -> Void) async throws {
    let (folder, database) = try make()
    try await database.write { _ in
      _ = try database.read { try SmallStore.texts($0) }
      try FileManager.default.removeItem(atPath: folder.path)
      try body(database)
    }
  }

  private func expect(_ result: ExitTest.Result?, says message: String) {
    #expect(result.map { String(decoding: $0.standardErrorContent, as: UTF8.self).contains(message) } == true)
  }

  // MARK: What traps

  @Test func writeInsideAsynchronousRead() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try await Self.insideRead { database in try database.write { _ in } }
    }
    expect(result, says: Self.opposite)
  }

  @Test func writeInsideSynchronousRead() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (folder, database) = try Self.make()
      let body: (Connection) throws -> Void = { _ in
        try FileManager.default.removeItem(atPath: folder.path)
        try database.write { _ in }
      }
      try database.read(body)
    }
    expect(result, says: Self.opposite)
  }

  @Test func workOfTheWriterInsideRead() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try await Self.insideRead { database in try database.withWriter { _ in } }
    }
    expect(result, says: Self.opposite)
  }

  @Test func rotationInsideRead() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try await Self.insideRead { database in _ = try database.rotateEncryptionKey(to: Keys.wrong) }
    }
    expect(result, says: Self.opposite)
  }

  @Test("A queue of the caller's between read and write hides nothing")
  func writeBehindAnotherQueue() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try await Self.insideRead { database in
        try DispatchQueue(label: "caller").sync { try database.write { _ in } }
      }
    }
    expect(result, says: Self.opposite)
  }

  @Test("Two threads that nest in opposite orders do not wait for each other")
  func oppositeOrders() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (folder, database) = try Self.make()
      let (writes, reads) = (Gate(), Gate())
      Thread.detachNewThread {
        try? database.write { _ in
          writes.open()
          reads.pass()
          try database.read { _ in }
        }
      }
      await writes.pass()
      try await database.read { _ in
        try FileManager.default.removeItem(atPath: folder.path)
        reads.open()
        try database.write { _ in }
      }
    }
    expect(result, says: Self.opposite)
  }

  @Test func writeInsideWrite() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try await Self.insideWrite { database in try database.write { _ in } }
    }
    expect(result, says: Self.same)
  }

  @Test func readInsideRead() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try await Self.insideRead { database in try database.read { _ in } }
    }
    expect(result, says: Self.same)
  }

  @Test func writeInsideReadInsideWrite() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (folder, database) = try Self.make()
      try await database.write { _ in
        try database.read { _ in
          try FileManager.default.removeItem(atPath: folder.path)
          try database.write { _ in }
        }
      }
    }
    expect(result, says: Self.opposite)
  }

  @Test func closingInsideWrite() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try await Self.insideWrite { database in try database.close() }
    }
    expect(result, says: Self.same)
  }

  // MARK: What is allowed

  @Test("Writes that read, and reads, from many threads at once come to their ends", .timeLimit(.minutes(1)))
  func readInsideWrite() async throws {
    let folder = TemporaryFolder()
    let database = try SmallStore.open(folder.path("store"), Keys.raw)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<100 {
        group.addTask {
          if number.isMultiple(of: 2) {
            _ = try await database.read { try SmallStore.texts($0) }
          } else {
            try await database.write { connection in
              let before = try database.read { try SmallStore.texts($0) }
              try connection.run("INSERT INTO item (text) VALUES (?)", .text("\(before.count)"))
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await database.read { try SmallStore.texts($0) } == (0..<50).map(String.init))
  }

  @Test("The rule is one database's own: the work of one may call another in any order")
  func otherDatabase() throws {
    let folder = TemporaryFolder()
    let one = try SmallStore.open(folder.path("one"), Keys.raw)
    let other = try SmallStore.open(folder.path("other"), Keys.raw)
    try one.read { _ in
      try other.write { try $0.run("INSERT INTO item (text) VALUES ('a')") }
      #expect(try other.read { try SmallStore.texts($0) } == ["a"])
    }
    // What ended leaves nothing behind on this thread, also where it threw.
    #expect(throws: DatabaseError.self) { try one.read { try $0.execute("no SQL") } }
    try one.write { try $0.run("INSERT INTO item (text) VALUES ('b')") }
    #expect(try SmallStore.texts(one.path, Keys.raw) == ["b"])
  }
}
