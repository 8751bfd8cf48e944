import EncryptedSQLite
import Foundation

/// The public sensor at a plaintext store: Python's SQLite, a library and a process apart from this one.
public enum PublicSensor {
  private static let script = """
    import sqlite3, sys
    database = sqlite3.connect(sys.argv[1], isolation_level=None)
    for sql in sys.argv[2:]:
        database.executescript(sql)
    print("ready", flush=True)
    sys.stdin.read()
    """

  /// Runs `sql` and then does nothing more, with the file open, until its input ends.
  public static func start(_ path: String, _ sql: String...) throws -> Program.Running {
    let running = try Program.start("/usr/bin/python3", ["-c", script, path] + sql)
    guard running.waitForLine("ready") else {
      throw CocoaError(.fileWriteUnknown, userInfo: [NSDebugDescriptionErrorKey: running.finish().errors])
    }
    return running
  }

  public static func run(_ path: String, _ sql: String...) throws {
    let running = try start(path, sql.joined(separator: ";\n"))
    running.closeInput()
    precondition(running.finish().status == 0)
  }

  /// Makes the store of version 1 that the golden files have too.
  ///
  /// - Parameter isKilled: whether the sensor is killed with all it wrote still in the write-ahead log.
  public static func make(_ path: String, isKilled: Bool = false, _ more: String = "") throws {
    let sql = try "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;" + Fixture.text("v1_rows.sql") + more
    guard isKilled else { return try run(path, sql) }
    let sensor = try start(path, sql)
    sensor.kill()
    _ = sensor.finish()
    precondition(FileSystem.size(path + "-wal") > 4096)
  }

  /// SQL for `count` more notifications with a text that is easy to find.
  public static func rows(_ count: Int) -> String {
    """
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT \(count))
    INSERT INTO ios_notification (timestamp, deviceId, label, timezone, os, jsonVersion, notificationId, title, body,
      categoryIdentifier, bundleIdentifier, sound, badge, threadIdentifier, interruptionLevel)
    SELECT 1700000000000 + i, 'older', '', 9, 'iOS', 1, 'n' || i, 'Saturday ' || i, 'SENTINEL-' || hex(randomblob(50)),
      '', '', '', 0, '', 0 FROM n;
    """
  }

  /// What a file must not hold once the store is adopted.
  public static let texts = [
    "Saturday", "速報", "deadbeef00112233", "aware_command", "ios_notification", "SQLite format 3", "SENTINEL-",
    "5B3E0F9C",
  ]

  /// The names of the files in `contents` that hold any of the texts.
  public static func plaintext(in contents: [String: Data]) -> [String] {
    contents.filter { file in texts.contains { file.value.range(of: Data($0.utf8)) != nil } }.keys.sorted()
  }
}
