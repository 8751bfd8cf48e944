import EncryptedSQLite
import Foundation
import TestSupport
import Testing

/// Rotations of a file that another process has open.
extension KeyRotationTests {
  enum Other: String, CaseIterable {
    case reading = "BEGIN; SELECT * FROM item"
    case writing = "BEGIN IMMEDIATE; INSERT INTO item (text) VALUES ('theirs, begun')"
    case idle = "SELECT count(*) FROM item"
  }

  @Test(arguments: Other.allCases, zip([true, true, false, false], [true, false, true, false]).map { [$0, $1] })
  func anotherProcess(_ other: Other, _ modes: [Bool]) throws {
    let (hasLog, isRewriting) = (modes[0], modes[1])
    try make(Keys.raw, hasLog: hasLog)
    var rows = try SmallStore.texts(path, Keys.raw)
    let keys = TemporaryFolder()
    let process = try Program.start(Program.helper, ["keep", path, keys.write("key", Keys.rawText), other.rawValue])
    #expect(process.waitForLine("keeping"))
    var key = try Keys.raw
    let code = Keys.error {
      let report = try Database.rotateEncryptionKey(
        of: path, from: key, to: newKey, rewriting: isRewriting, busyTimeout: 0.1)
      // A reader keeps the log.
      #expect(report.isLogFoldedIn == (other == .idle))
    }
    // A log lets others read, and does not let the file go while they have it open; a journal's lock lasts as long as
    // its transaction.
    let isPossible = hasLog ? other != .writing && !isRewriting : other == .idle
    #expect(code == (isPossible ? nil : .busy))
    if isPossible { key = try newKey }
    // This process goes on, unless the other writes.
    let database = try SmallStore.open(path, key, busyTimeout: 0.1)
    let insertion = Keys.error { try database.write { try $0.run("INSERT INTO item (text) VALUES ('ours')") } }
    let isFree = other == .idle || hasLog && other == .reading
    #expect(insertion == (isFree ? nil : .busy))
    try database.close()
    process.closeInput()
    let end = process.finish().lines.last
    if isPossible {
      #expect(end == (isRewriting ? "fileReplaced" : "keyChanged"))
    } else {
      #expect(end == "ok")
    }
    if isFree { rows.append("ours") }
    if !isPossible { rows += (other == .writing ? ["theirs, begun"] : []) + ["theirs"] }
    #expect(try SmallStore.texts(path, key) == rows)
    let connection = try Connection.open(path, key: key)
    #expect(try connection.integrityFaults() == [])
    try connection.close()
    #expect(folder.names == ["store.db"])
  }
}
