#if canImport(UIKit)
  import UIKit

  /// The name by which the other files know UIKit's type.
  public typealias UIBackgroundFetchResult = UIKit.UIBackgroundFetchResult
#endif
