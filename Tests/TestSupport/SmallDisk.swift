import Foundation

/// A file system of its own that is soon full; unmounted with the last reference to it.
public final class SmallDisk {
  private let folder = TemporaryFolder()
  private static let mount = "/bin/mount"

  /// Whether this process may mount one.
  public static let isAvailable: Bool = (try? SmallDisk(size: "16k")) != nil

  public init(size: String) throws {
    let mounted = try Program.run(Self.mount, ["-t", "tmpfs", "-o", "size=\(size)", "tmpfs", folder.path])
    guard mounted.status == 0 else { throw CocoaError(.fileWriteNoPermission) }
  }

  deinit { _ = try? Program.run("/bin/umount", [folder.path]) }

  public func path(_ name: String) -> String { folder.path(name) }
  public var names: [String] { folder.names }
}
