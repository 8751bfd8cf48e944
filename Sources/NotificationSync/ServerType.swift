/// The kind of server that uploads go to.
public enum ServerType: Int, Sendable {
  case none = 0
  case aware = 1
  case aware_micro = 2
  case aware_light = 4

  /// Reads the number that configurations write. 3 is another name of `aware_micro`.
  public init?(rawValue: Int) {
    switch rawValue {
    case 0: self = .none
    case 1: self = .aware
    case 2, 3: self = .aware_micro
    case 4: self = .aware_light
    default: return nil
    }
  }
}
