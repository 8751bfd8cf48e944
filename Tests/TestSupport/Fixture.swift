import EncryptedSQLite
import Foundation

/// Files that tests read.
public enum Fixture {
  /// The sample pushes of Examples, one JSON object a line.
  public static func payloads(_ name: String) throws -> [[String: Any]] {
    let text = try String(contentsOfFile: Program.root + "/Examples/payloads/\(name).jsonl", encoding: .utf8)
    return text.split(separator: "\n").map { JSON.parse(String($0)) as! [String: Any] }
  }

  public static let goldenKey = "golden passphrase"

  public static func text(_ name: String) throws -> String {
    try String(contentsOfFile: folder + name, encoding: .utf8)
  }

  /// The generations of golden files that the library in this build can read.
  public static var readableGenerations: [Int] {
    let version = (try? Connection.libraryVersion()) ?? ""
    return version.hasPrefix("3.") ? [3] : [4, 3, 2, 1]
  }

  /// A copy of the golden file of version 1 that a generation of SQLCipher wrote.
  public static func golden(_ generation: Int, in temporary: TemporaryFolder) throws -> String {
    let copy = temporary.path("golden.db")
    try FileManager.default.copyItem(atPath: folder + "v1-sqlcipher\(generation).db", toPath: copy)
    return copy
  }

  private static let folder = Program.root + "/Tests/NotificationStoreTests/Fixtures/"
}
