import Foundation

/// The app that an extension belongs to.
enum AppBundle {
  /// The app's bundle identifier; "" when the program has none.
  static var identifier: String {
    identifier(of: Bundle.main.bundleIdentifier ?? "", at: Bundle.main.bundlePath) {
      Bundle(path: $0)?.bundleIdentifier
    }
  }

  /// An extension stands in its app, as `<app>/PlugIns/<name>.appex` (Bundle Programming Guide, "Bundle Structures"), and has
  /// its app's identifier with more components.
  static func identifier(of bundle: String, at path: String, reading: (_ app: String) -> String?) -> String {
    guard path.hasSuffix(".appex") else { return bundle }
    let app = path.split(separator: "/", omittingEmptySubsequences: false).dropLast(2).joined(separator: "/")
    return reading(app) ?? bundle.lastIndex(of: ".").map { String(bundle[..<$0]) } ?? bundle
  }
}
