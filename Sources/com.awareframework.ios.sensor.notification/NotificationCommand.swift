import Foundation

/// What a silent push asks the sensor to do, by its key `aware_command`.
public enum NotificationCommand: Equatable, Sendable {
  /// Send what was recorded, now.
  case sync
  /// Restart the sensor, which the app does.
  case restart
  /// Take over the configuration at this URL, which the app does.
  case configUpdate(url: URL)
  /// Any other text, for the app.
  case custom(String)

  public static let payloadKey = "aware_command"
  public static let configURLKey = "aware_config_url"
  public static let commandSync = "sync"
  public static let commandRestart = "restart"
  public static let commandConfigUpdate = "config_update"

  /// Reads a push's payload; nil when it has no text under `aware_command`.
  ///
  /// `config_update` without an absolute URL under `aware_config_url` is a custom command of that name.
  public init?(userInfo: [AnyHashable: Any]) {
    guard let command = userInfo[Self.payloadKey] as? String else { return nil }
    switch command {
    case Self.commandSync: self = .sync
    case Self.commandRestart: self = .restart
    case Self.commandConfigUpdate:
      let text = userInfo[Self.configURLKey]
      guard let url = text as? URL ?? (text as? String).flatMap({ URL(string: $0) }), url.scheme != nil else {
        self = .custom(command)
        return
      }
      self = .configUpdate(url: url)
    default: self = .custom(command)
    }
  }

  /// The text under `aware_command`.
  public var rawValue: String {
    switch self {
    case .sync: Self.commandSync
    case .restart: Self.commandRestart
    case .configUpdate: Self.commandConfigUpdate
    case .custom(let text): text
    }
  }
}
