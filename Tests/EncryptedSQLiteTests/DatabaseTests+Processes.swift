import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// Several processes at one file.
extension DatabaseTests {
  @Test("Six processes make one store at once: all get it, and nothing else is left")
  func createdAtOnce() throws {
    let keys = TemporaryFolder()
    let key = keys.write("key", Keys.passphraseText)
    for round in 0..<Campaign.count(2) {
      let path = folder.path("store-\(round)")
      let creators = try (0..<6).map { _ in try Program.start(Program.helper, ["create", path, key]) }
      for creator in creators {
        let result = creator.finish()
        #expect(result.lines == ["ok"] && result.errors.isEmpty, "round \(round): \(result.errors)")
      }
      #expect(!folder.names.contains { $0.contains(".new-") })
      let connection = try Connection.open(path, key: Keys.passphrase)
      #expect(try connection.integrityFaults().isEmpty)
      // One maker only: the store has one identity.
      #expect(try connection.integer("SELECT count(*) FROM store_property WHERE name = 'deviceId'") == 1)
      try connection.close()
      // Only now: of connections that close at the same instant, none is the last, and SQLite leaves the log.
      #expect(folder.names == ["store-\(round)"])
      try FileManager.default.removeItem(atPath: path)
    }
  }

  @Test("What a killed maker leaves is removed by the next, which makes the store")
  func killedCreators() throws {
    let keys = TemporaryFolder()
    let key = keys.write("key", Keys.passphraseText)
    var left = 0
    for _ in 0..<200 where left < Campaign.count(3) {
      let creator = try Program.start(Program.helper, ["create", path, key])
      while creator.isRunning, !folder.names.contains(where: { $0.hasPrefix("store.new-") }) { usleep(200) }
      creator.kill()
      _ = creator.finish()
      guard folder.names.contains(where: { $0.hasPrefix("store.new-") }) else {
        // It had finished first.
        try? FileManager.default.removeItem(atPath: path)
        continue
      }
      left += 1
      #expect(try Program.run(Program.helper, ["create", path, key]).lines == ["ok"])
      #expect(folder.names == ["store"])
      try FileManager.default.removeItem(atPath: path)
    }
    #expect(left > 0, "no maker was killed in time")
  }

  @Test("A maker killed after it published leaves a second name, which the next opening takes away")
  func killedAfterPublishing() throws {
    try SmallStore.make(path, Keys.raw)
    _ = folder.write("store.new-0123456789abcdef", "")
    #expect(link(path, folder.path("store.new-0123456789abcdef-db")) == 0)
    #expect(try SmallStore.texts(path, Keys.raw) == ["one", "two"])
    #expect(folder.names == ["store"])
  }

  @Test("What a power cut left of a maker's file without its marker goes with the next making")
  func withoutMarker() throws {
    for suffix in ["-db", "-db-journal", "-db-wal", "-db-shm"] {
      _ = folder.write("store.new-0123456789abcdef" + suffix, "half a file")
    }
    try SmallStore.make(path, Keys.raw)
    #expect(folder.names == ["store"])
  }

  @Test("What only looks like a maker's file stays")
  func othersFiles() throws {
    let digits = "0123456789abcdef"
    for name in [
      "store.new-2147483647", "store.new-2147483647-abc", "store.new-", "store.new-x", "other.new-\(digits)",
      "store.newer", "store.new-\(digits)0", "store.new-\(digits.dropLast())", "store.new-\(digits.dropLast())g",
      "store.new-\(digits)-db", "store.new-\(digits.uppercased()).txt", "store.new-2\(digits.dropFirst())-db2",
    ] {
      _ = folder.write(name, "")
    }
    // The very name, and yet not a marker: markers have no bytes.
    _ = folder.write("store.new-\(digits)", "theirs")
    try FileManager.default.createDirectory(
      atPath: folder.path("store.new-1\(digits.dropFirst())"), withIntermediateDirectories: false)
    let before = folder.names
    try SmallStore.make(path, Keys.raw)
    #expect(folder.names == (before + ["store"]).sorted())
    #expect(folder.contents["store.new-\(digits)"] == Data("theirs".utf8))
  }

  @Test("The files of a maker that is at work stay; once it is killed they go, whatever its process id")
  func runningCreator() throws {
    let keys = TemporaryFolder()
    let maker = try Program.start(Program.helper, ["create-slowly", path, keys.write("key", Keys.rawText)])
    try #require(maker.waitForLine("preparing"))
    let names = folder.names
    #expect(names.count == 2 && names.allSatisfy { $0.hasPrefix("store.new-") })
    // Others make their own meanwhile.
    try SmallStore.make(path, Keys.raw)
    #expect(folder.names == (names + ["store"]).sorted())
    try FileManager.default.removeItem(atPath: path)
    maker.kill()
    _ = maker.finish()
    #expect(folder.names == names)
    try SmallStore.make(path, Keys.raw)
    #expect(folder.names == ["store"])
  }

  @Test("A maker that comes second finishes, and takes its own files away only")
  func secondCreator() throws {
    let keys = TemporaryFolder()
    let maker = try Program.start(Program.helper, ["create-slowly", path, keys.write("key", Keys.rawText)])
    try #require(maker.waitForLine("preparing"))
    try SmallStore.make(path, Keys.raw, ["first"])
    maker.closeInput()
    #expect(maker.finish().lines == ["preparing", "second"])
    #expect(folder.names == ["store"])
    #expect(try SmallStore.texts(path, Keys.raw) == ["first"])
  }

  @Test("Two processes that read and write at once: no error, and every row")
  func twoWriters() throws {
    let keys = TemporaryFolder()
    let arguments = ["insert", path, keys.write("key", Keys.rawText), "100"]
    let writers = try (0..<2).map { _ in try Program.start(Program.helper, arguments) }
    for writer in writers {
      let result = writer.finish()
      #expect(result.lines == ["ok"], "\(result.errors)")
    }
    let connection = try Connection.open(path, key: Keys.raw)
    #expect(try connection.integer("SELECT count(DISTINCT recordId) FROM ios_silent_push") == 200)
    #expect(try connection.integrityFaults().isEmpty)
    try connection.close()
    #expect(folder.names == ["store"])
  }
}
