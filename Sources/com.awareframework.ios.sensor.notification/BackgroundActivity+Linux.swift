#if !canImport(UIKit)
  /// Where no system suspends a program.
  struct BackgroundActivity {
    init(_ reason: String, stop: @escaping @Sendable () -> Void) {}
    func end() {}
  }
#endif
