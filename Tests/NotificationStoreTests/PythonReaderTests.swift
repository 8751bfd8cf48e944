import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

/// Python's `sqlcipher3`, an independent build of SQLCipher 4, reads what a version 4 library wrote here, and the other
/// way round.
@Suite(.enabled(if: Fixture.readableGenerations.contains(4), "Python's wheels carry SQLCipher 4 only"))
struct PythonReaderTests {
  private let folder = TemporaryFolder()

  private func run(_ body: String, _ path: String) throws -> Program.Result {
    let script = """
      import sys
      from sqlcipher3 import dbapi2
      connection = dbapi2.connect(sys.argv[1])
      connection.execute("PRAGMA key = \\"" + sys.stdin.readline().rstrip("\\n").replace('"', '""') + "\\"")
      \(body)
      """
    return try Program.run(Program.python, ["-c", script, path], input: Keys.passphraseText + "\n")
  }

  @Test func pythonReadsAStore() throws {
    let path = folder.path("store.db")
    let store = try NotificationStore(.init(path: path, key: Keys.passphrase))
    try store.record(PushRecords(payload: ["aps": ["alert": "Grüße 🥾"]], identifier: "a"))
    try store.close()
    let result = try run("print(connection.execute('SELECT id, body FROM ios_notification').fetchall())", path)
    #expect(result.output == "[(1, 'Grüße 🥾')]\n", "\(result.errors)")
  }

  @Test func aStoreThatPythonMadeOpens() throws {
    let path = folder.path("python.db")
    let steps = Migration.all[0].sql.replacingOccurrences(of: "\"\"\"", with: "")
    let result = try run("connection.executescript('''\(steps)'''); connection.commit()", path)
    #expect(result.status == 0, "\(result.errors)")
    let store = try NotificationStore(.init(path: path, key: Keys.passphrase))
    #expect(try store.notifications.insert(NotificationData()).id == 1)
  }
}
