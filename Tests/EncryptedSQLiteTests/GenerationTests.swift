import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// Building against one SQLCipher and running another goes unnoticed, so each leg says which one it means.
@Suite struct GenerationTests {
  @Test func thisIsTheGenerationThatTheLegIsFor() throws {
    let version = try Connection.libraryVersion()
    if let expected = ProcessInfo.processInfo.environment["EXPECT_SQLCIPHER"] {
      #expect(version.hasPrefix(expected + "."))
    }
    // The shell that stands for the stock tools is of the same generation, as is the program under test.
    let shell = try Program.run(Program.shell, [":memory:"], input: "PRAGMA cipher_version;")
    #expect(shell.output.contains(version.prefix { $0 != " " }))
    #expect(try Program.run(Program.tool, ["--version"]).output.contains("SQLCipher \(version)"))
  }
}
