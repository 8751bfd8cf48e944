@_exported import CoreFoundationTypes
@_exported import Foundation

// What Foundation has on Apple's systems only.

/// What the stubs of this module answer, and what was asked of them.
public enum StubSystem {
  /// The app groups of the program, and their folders.
  public nonisolated(unsafe) static var groups: [String: URL] = [:]
  /// The reason and the block of each expiring activity; by default it is granted, and its time is not over.
  public nonisolated(unsafe) static var perform: (String, @escaping @Sendable (Bool) -> Void) -> Void = { _, block in
    DispatchQueue.global().async { block(false) }
  }
}

extension FileManager {
  /// https://developer.apple.com/documentation/foundation/filemanager/containerurl(forsecurityapplicationgroupidentifier:)
  public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? {
    StubSystem.groups[groupIdentifier]
  }
}

extension ProcessInfo {
  /// https://developer.apple.com/documentation/foundation/processinfo/performexpiringactivity(withreason:using:)
  /// (iOS 8.2; not on macOS)
  public func performExpiringActivity(withReason reason: String, using block: @escaping @Sendable (Bool) -> Void) {
    precondition(!reason.isEmpty, "the reason must not be empty")
    StubSystem.perform(reason, block)
  }
}
