import EncryptedSQLite
import Foundation

/// What the first 32 bytes of a file tell where they are in the clear.
public struct ReadableHeader: Equatable, Sendable {
  public let pageSize: Int
  /// Who may write and read: 2 is the write-ahead log's mode, 1 a journal's.
  public let versions: [UInt8]
  public let pages: Int

  /// Whether the library of this build can make such a file.
  public static let isAvailable = Fixture.readableGenerations.contains(4)
  static let setting = "PRAGMA cipher_plaintext_header_size = 32;"

  /// nil where the file at `path` does not begin as SQLite's do, with the values that SQLCipher 4 gives them and, from the
  /// 32nd byte on, no more of a plain header.
  public init?(_ path: String) {
    let bytes = [UInt8](FileManager.default.contents(atPath: path) ?? Data())
    guard bytes.count > 100, bytes.starts(with: Array("SQLite format 3\0".utf8)),
      // A reserved tail of 80 bytes for the MAC and the initialisation vector, and three fixed values.
      Array(bytes[20..<24]) == [80, 64, 32, 32], bytes[72..<92].contains(where: { $0 != 0 })
    else { return nil }
    pageSize = Int(bytes[16]) << 8 | Int(bytes[17])
    versions = Array(bytes[18..<20])
    pages = bytes[28..<32].reduce(0) { $0 << 8 | Int($1) }
  }

  /// What it tells of a file at rest of this size, in the write-ahead log's mode.
  public static func expected(_ path: String) -> Self {
    Self(pageSize: 4096, versions: [2, 2], pages: FileSystem.size(path) / 4096)
  }

  private init(pageSize: Int, versions: [UInt8], pages: Int) {
    (self.pageSize, self.versions, self.pages) = (pageSize, versions, pages)
  }

  /// Makes such a file with Python's SQLCipher 4, whatever this build links.
  public static func makeElsewhere(_ path: String, key: String) throws {
    let script = """
      import sys
      from sqlcipher3 import dbapi2
      connection = dbapi2.connect(sys.argv[1])
      connection.execute('PRAGMA key = "' + sys.stdin.readline().rstrip() + '"')
      connection.execute("\(setting)")
      connection.executescript("CREATE TABLE item (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO item (text) VALUES ('one'), ('two'); PRAGMA journal_mode = WAL")
      """
    let result = try Program.run(Program.python, ["-c", script, path], input: key + "\n")
    guard result.status == 0 else {
      throw CocoaError(.fileWriteUnknown, userInfo: [NSDebugDescriptionErrorKey: result.errors])
    }
  }
}

extension RawSQLite {
  /// A connection to a file with a readable header.
  public static func withReadableHeader(_ path: String, key: EncryptionKey) -> RawSQLite {
    RawSQLite(path, key: key, settings: ReadableHeader.setting)
  }
}
