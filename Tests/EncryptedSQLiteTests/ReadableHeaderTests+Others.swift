import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// Other processes, and other programs.
extension ReadableHeaderTests {
  @Test("The stock shell opens it with the same key and the header's size, and what it made opens here")
  func stockShell() throws {
    func shell(_ file: String, _ sql: String) throws -> [String] {
      let input =
        StockToolsTests.pragma(Keys.saltedText) + "\nPRAGMA cipher_plaintext_header_size = 32;\n\(sql)\n"
      let result = try Program.run(Program.shell, [file], input: input)
      #expect(result.errors.isEmpty, "\(result.errors)")
      return result.lines.filter { $0 != "ok" }
    }
    try SmallStore.make(path, Keys.salted, hasReadableHeader: true)
    #expect(try shell(path, "SELECT text FROM item ORDER BY id;") == ["one", "two"])
    let theirs = folder.path("theirs.db")
    #expect(try shell(theirs, "\(SmallStore.schema); INSERT INTO item (text) VALUES ('theirs');").isEmpty)
    #expect(try SmallStore.texts(theirs, Keys.salted) == ["theirs"])
  }

  @Test func whatPythonMadeOpensHere() throws {
    try ReadableHeader.makeElsewhere(path, key: Keys.saltedText)
    let connection = try Connection.open(path, key: Keys.salted)
    #expect(connection.cipher.hasReadableHeader)
    try connection.run("INSERT INTO item (text) VALUES ('three')")
    #expect(try SmallStore.texts(connection) == ["one", "two", "three"])
    try connection.close()
  }

  @Test("Two processes that read and write at once: no error, and every row") func twoWriters() throws {
    let keys = TemporaryFolder()
    let key = keys.write("key", Keys.saltedText)
    let makers = try (0..<2).map { _ in try Program.start(Program.helper, ["create", path, key, "--readable-header"]) }
    for maker in makers { #expect(maker.finish().lines == ["ok"]) }
    let writers = try (0..<2).map { _ in try Program.start(Program.helper, ["insert", path, key, "100"]) }
    for writer in writers { #expect(writer.finish().lines == ["ok"]) }
    let connection = try Connection.open(path, key: Keys.salted)
    #expect(try connection.integer("SELECT count(DISTINCT recordId) FROM ios_silent_push") == 200)
    #expect(try connection.integrityFaults().isEmpty)
    try connection.close()
    #expect(ReadableHeader(path) == .expected(path))
    #expect(folder.names == ["store.db"])
  }

  @Test(
    "A maker that is killed leaves the whole store or none, and the next makes it",
    .enabled(if: FileRecorder.isAvailable, "there is no C compiler, or a sanitizer is on"))
  func killedMakers() throws {
    let keys = TemporaryFolder()
    let arguments = ["create", path, keys.write("key", Keys.saltedText), "--readable-header"]
    let (result, recording) = try FileRecorder.run(Program.helper, arguments, folder: folder.path)
    #expect(result.lines == ["ok"])
    let count = Campaign.count(10)
    for round in 0..<count {
      for name in folder.names { try FileManager.default.removeItem(atPath: folder.path(name)) }
      let number = 1 + round * recording.count / count
      let killed = try FileRecorder.run(Program.helper, arguments, folder: folder.path, .kill(at: number)).result
      try #require(killed.status == SIGKILL, "operation \(number)")
      if folder.names.contains("store.db") {
        try #require(try StoreTables(path).count == 3, "operation \(number)")
      }
      try #require(try Program.run(Program.helper, arguments).lines == ["ok"], "operation \(number)")
      // The empty marker of a maker that was killed right at its end stays until the next store is made here.
      let names = folder.names.filter { FileSystem.size(folder.path($0)) > 0 }
      try #require(names == ["store.db"] && ReadableHeader(path) == .expected(path), "operation \(number)")
    }
  }

  /// How many of the records' tables a store has.
  private struct StoreTables {
    let count: Int64
    init(_ path: String) throws {
      let connection = try Connection.open(path, key: Keys.salted, options: .init(access: .readOnly))
      count =
        try connection.integer(
          "SELECT count(*) FROM sqlite_master WHERE name IN ('ios_notification', 'ios_notification_token', 'ios_silent_push')"
        ) ?? 0
      try connection.close()
    }
  }
}

/// A library that cannot read such files.
@Suite(.enabled(if: !ReadableHeader.isAvailable, "this library reads them"))
struct ReadableHeaderRefusalTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path("store.db") }

  @Test(arguments: [Keys.saltedText, Keys.rawText, Keys.passphraseText]) func noneIsMade(_ text: String) throws {
    let error = Keys.error { try SmallStore.make(path, EncryptionKey(text), hasReadableHeader: true) }
    #expect(error == .readableHeaderUnavailable)
    #expect(folder.names == [])
  }

  @Test(arguments: [Keys.saltedText, Keys.rawText, Keys.passphraseText])
  func aFileOfANewerLibraryIsCalledByItsName(_ text: String) throws {
    try ReadableHeader.makeElsewhere(path, key: Keys.saltedText)
    let before = folder.contents
    do {
      _ = try Connection.open(path, key: EncryptionKey(text))
      Issue.record("it opened")
    } catch let error as DatabaseError {
      #expect(error.code == .readableHeaderUnavailable && error.message.contains("only SQLCipher 4 reads"))
    }
    #expect(folder.contents == before)
  }
}
