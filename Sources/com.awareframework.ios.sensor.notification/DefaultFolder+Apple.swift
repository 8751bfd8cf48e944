#if canImport(Security)
  import EncryptedSQLite
  import Foundation

  /// Where stores stand that are configured by a name.
  enum DefaultFolder {
    /// The app's Documents folder, where the public sensor keeps its store.
    static func path() throws -> String {
      guard let folder = FileManager.default.urls(for: .documentDirectory, in: .userDomainMask).first else {
        throw DatabaseError(.notFound, "the app has no Documents folder: give an absolute dbPath")
      }
      return folder.path
    }
  }
#endif
