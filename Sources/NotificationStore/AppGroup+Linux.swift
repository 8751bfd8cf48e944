#if !canImport(Security)
  import EncryptedSQLite
  import Foundation

  /// A folder that stands in for an app group: `$XDG_DATA_HOME/aware-groups/<identifier>`, which somebody has made.
  public struct AppGroup: SharedContainer {
    public let folder: String
    private var settingsPath: String { folder + "/settings.json" }

    /// - Throws: `invalidArgument` when there is no such group.
    public init(_ identifier: String) throws {
      let environment = ProcessInfo.processInfo.environment
      let data = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
      let home = data ?? (environment["HOME"] ?? "") + "/.local/share"
      let folder = home + "/aware-groups/" + identifier
      var isFolder: ObjCBool = false
      guard !identifier.isEmpty, !identifier.contains("/"), !identifier.hasPrefix("."),
        FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue
      else {
        throw DatabaseError(
          .invalidArgument, "there is no app group \(identifier): make the folder \(folder) for it, or check its name")
      }
      self.folder = folder
    }

    public func setting(_ name: String) -> String? { settings()[name] }

    public func set(_ value: String?, for name: String) throws {
      let lock = try PathLock(settingsPath, timeout: 5)
      defer { lock.release() }
      var settings = settings()
      settings[name] = value
      let data = try JSONSerialization.data(withJSONObject: settings, options: [.sortedKeys])
      let aside = settingsPath + ".new"
      unlink(aside)
      let descriptor = try FileSystem.createForOwner(aside)
      defer { close(descriptor) }
      try data.withUnsafeBytes { try FileSystem.write($0, to: descriptor, aside) }
      guard rename(aside, settingsPath) == 0 else { throw FileSystem.error("write", settingsPath, errno) }
    }

    private func settings() -> [String: String] {
      guard let data = FileManager.default.contents(atPath: settingsPath),
        let settings = try? JSONSerialization.jsonObject(with: data) as? [String: String]
      else {
        return [:]
      }
      return settings
    }
  }
#endif
