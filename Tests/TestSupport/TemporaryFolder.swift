import Foundation

/// A fresh folder for one test, removed with the last reference to it.
public final class TemporaryFolder: Sendable {
  public let path: String

  public init() {
    var template = Array((NSTemporaryDirectory() + "/aware-test-XXXXXX").utf8CString)
    precondition(mkdtemp(&template) != nil, "cannot make a temporary folder")
    let real = realpath(template, nil)
    defer { free(real) }
    // As a store gives its own path: without links.
    path = real.map { String(cString: $0) } ?? ""
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  public func path(_ name: String) -> String { path + "/" + name }

  public func write(_ name: String, _ text: String, mode: Int = 0o600) -> String {
    let path = path(name)
    _ = FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
    return path
  }

  /// The names in the folder, sorted.
  public var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }

  /// Makes this folder hold copies of the files in `source`, and nothing else.
  public func copyContents(of source: TemporaryFolder) throws {
    for name in names { try FileManager.default.removeItem(atPath: path(name)) }
    for name in source.names { try FileManager.default.copyItem(atPath: source.path(name), toPath: path(name)) }
  }

  /// What each file is like that a command which reads may not change, in the folder but for the WAL's index, a cache:
  /// content, size, mode, owner and time.
  public var fingerprints: [String: String] {
    Dictionary(
      uniqueKeysWithValues: names.filter { !$0.hasSuffix("-shm") }.map { name in
        var status = stat()
        guard lstat(path(name), &status) == 0 else { return (name, "gone") }
        let content = (FileManager.default.contents(atPath: path(name)) ?? Data()).base64EncodedString()
        let time = "\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
        return (name, "\(status.st_ino) \(status.st_mode) \(status.st_uid) \(time) \(content)")
      })
  }

  /// The bytes of each file in the folder, for comparing before and after.
  public var contents: [String: Data] {
    Dictionary(
      uniqueKeysWithValues: names.compactMap { name in
        FileManager.default.contents(atPath: path(name)).map { (name, $0) }
      })
  }
}
