import Foundation

/// The app that an extension belongs to.
enum AppBundle {
  /// The app's bundle identifier; "" when the program has none.
  static var identifier: String { identifier(of: Bundle.main.bundleIdentifier ?? "", at: Bundle.main.bundlePath) }

  /// An extension (`….appex`) has its app's identifier and a last component of its own (App Extension Programming Guide,
  /// "Creating an App Extension").
  static func identifier(of bundle: String, at path: String) -> String {
    guard path.hasSuffix(".appex"), let dot = bundle.lastIndex(of: ".") else { return bundle }
    return String(bundle[..<dot])
  }
}
