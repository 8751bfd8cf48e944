import EncryptedSQLite

/// The place that an app and its extensions share: a folder, and settings beside it.
///
/// On Apple's systems an app group (`AppGroup+Apple.swift`); elsewhere a folder stands in for one
/// (`AppGroup+Linux.swift`).
public protocol SharedContainer: Sendable {
  /// The folder, which exists.
  var folder: String { get }
  func setting(_ name: String) -> String?
  /// nil removes it.
  func set(_ value: String?, for name: String) throws
}

/// What an app tells its extension, by way of their shared container. No key belongs here: whoever reads a backup of the
/// device can read these.
public struct SharedSettings: Sendable {
  private let container: any SharedContainer

  public init(_ container: any SharedContainer) { self.container = container }

  /// The device id of records.
  public var deviceId: String? { self["aware.deviceId"] }
  /// The label of records.
  public var label: String? { self["aware.label"] }
  /// The host that records are sent to.
  public var host: String? { self["aware.host"] }
  /// Where a receipt goes for each push.
  public var deliveryReceiptURL: String? { self["aware.deliveryReceiptURL"] }

  /// Any other text that the app shares, under a name of its own.
  public subscript(name: String) -> String? { container.setting(name) }

  public func set(_ value: String?, for name: String) throws { try container.set(value, for: name) }

  package func share(deviceId: String, label: String, host: String?, deliveryReceiptURL: String?) throws {
    let values = [
      ("aware.deviceId", deviceId), ("aware.label", label), ("aware.host", host ?? ""),
      ("aware.deliveryReceiptURL", deliveryReceiptURL ?? ""),
    ]
    // Only what changed: each is a write to the disk.
    for (name, value) in values where setting(name) != value { try set(value.isEmpty ? nil : value, for: name) }
  }

  package func share(label: String) throws {
    if self.label ?? "" != label { try set(label.isEmpty ? nil : label, for: "aware.label") }
  }

  private func setting(_ name: String) -> String { self[name] ?? "" }
}
