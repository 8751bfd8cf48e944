#if !canImport(UIKit)
  /// Stands in for UIKit's type of this name where there is no UIKit.
  public enum UIBackgroundFetchResult: UInt, Sendable {
    case newData
    case noData
    case failed
  }
#endif
