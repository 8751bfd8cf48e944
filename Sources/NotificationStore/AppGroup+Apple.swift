#if canImport(Security)
  import EncryptedSQLite
  import Foundation

  /// An app group: what an app and its extensions share (the capability App Groups, on each of them).
  ///
  /// - Note: `@unchecked Sendable`: `UserDefaults` is documented as safe to use from several threads.
  public struct AppGroup: SharedContainer, @unchecked Sendable {
    public let folder: String
    private let defaults: UserDefaults

    /// - Throws: `invalidArgument` when the running program is not in such a group.
    public init(_ identifier: String) throws {
      // Asking for the defaults alone would give private ones for an unknown group. macOS names a folder for any group, which
      // cannot be used then.
      guard let url = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: identifier),
        FileManager.default.isWritableFile(atPath: url.path), let defaults = UserDefaults(suiteName: identifier)
      else {
        throw DatabaseError(
          .invalidArgument,
          "this program is in no app group \(identifier): add the capability App Groups to app and extension, and check the name"
        )
      }
      folder = url.path
      self.defaults = defaults
    }

    public func setting(_ name: String) -> String? { defaults.string(forKey: name) }

    public func set(_ value: String?, for name: String) throws { defaults.set(value, forKey: name) }
  }
#endif
