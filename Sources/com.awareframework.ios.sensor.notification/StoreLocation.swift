import EncryptedSQLite
import Foundation
import NotificationStore

/// Where the store of a configured `dbPath` stands.
enum StoreLocation {
  /// An absolute path as it is; a name is `<name>.sqlite` in the app group's folder, or in the default folder, which is made.
  static func path(_ dbPath: String, in group: AppGroup? = nil) throws -> String {
    if dbPath.hasPrefix("/") { return dbPath }
    if let group { return group.folder + "/" + fileName(dbPath) }
    let folder = try DefaultFolder.path()
    try makeFolder(folder)
    return folder + "/" + fileName(dbPath)
  }

  /// As the public sensor names its file: without blanks at its ends, `.sqlite` once, `aware` for an empty name.
  static func fileName(_ dbPath: String) -> String {
    var stem = dbPath.trimmingCharacters(in: .whitespacesAndNewlines)
    if stem.lowercased().hasSuffix(".sqlite") { stem.removeLast(".sqlite".count) }
    return (stem.isEmpty ? "aware" : stem) + ".sqlite"
  }

  private static func makeFolder(_ path: String) throws {
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw DatabaseError(.permissionDenied, "cannot make the folder \(path): check who may write beside it")
    }
  }
}
