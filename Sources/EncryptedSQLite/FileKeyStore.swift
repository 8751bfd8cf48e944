import Foundation

/// Keeps a key in a file that only this user can read (mode 0600), and a staged one beside it, at `<path>.staged`.
public struct FileKeyStore: EncryptionKeyStore {
  public let path: String
  private let makesSaltedKeys: Bool

  /// - Parameter makesSaltedKeys: whether ``create()`` makes keys with a salt, as a store with a readable header needs them.
  public init(path: String, makesSaltedKeys: Bool = false) {
    self.path = path
    self.makesSaltedKeys = makesSaltedKeys
  }

  package var stagedPath: String { path + ".staged" }

  public func load() throws -> StoredKeys {
    let staged = try readStaged()
    do {
      return StoredKeys(current: try KeyFile.read(path), staged: staged)
    } catch let error as DatabaseError where error.code == .keyNotFound {
      // Somebody removed the current one: the other may be in force.
      guard let staged else { throw error }
      return StoredKeys(current: staged)
    }
  }

  public func create() throws -> EncryptionKey {
    let key = EncryptionKey.random(salted: makesSaltedKeys)
    try KeyFile.create(path, key)
    return key
  }

  public func stage(_ new: EncryptionKey) throws {
    if let staged = try readStaged() {
      guard staged == new else {
        throw DatabaseError(
          .alreadyExists,
          "\(stagedPath) holds the new key of another rotation that was cut short: finish that one first")
      }
      return
    }
    try KeyFile.create(stagedPath, new)
  }

  public func promote() throws {
    guard rename(stagedPath, path) == 0 else {
      if errno == ENOENT { return }
      throw FileSystem.error("replace", path, errno)
    }
    try FileSystem.syncFolder(of: path)
  }

  public func discard() throws {
    guard unlink(stagedPath) == 0 else {
      if errno == ENOENT { return }
      throw FileSystem.error("remove", stagedPath, errno)
    }
    try FileSystem.syncFolder(of: path)
  }

  package func readStaged() throws -> EncryptionKey? {
    do {
      return try KeyFile.read(stagedPath)
    } catch let error as DatabaseError where error.code == .keyNotFound {
      return nil
    }
  }
}
