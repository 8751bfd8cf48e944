#if !canImport(Security)
  import EncryptedSQLite
  import Foundation

  /// Where stores stand that are configured by a name.
  enum DefaultFolder {
    /// `$XDG_DATA_HOME/aware`, and `~/.local/share/aware` without it (XDG Base Directory Specification, "Environment
    /// variables": a path in it that is not absolute is ignored).
    static func path() throws -> String {
      let environment = ProcessInfo.processInfo.environment
      if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return data + "/aware" }
      guard let home = environment["HOME"], home.hasPrefix("/") else {
        throw DatabaseError(.notFound, "there is no home folder for the store: give an absolute dbPath")
      }
      return home + "/.local/share/aware"
    }
  }
#endif
