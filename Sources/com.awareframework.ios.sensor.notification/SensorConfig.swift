import EncryptedSQLite
import Foundation
import NotificationSync

/// The settings that all AWARE sensors have. Every property may be read and set from any thread.
///
/// Printing, `dump` and mirrors show neither the encryption key nor the study key.
open class SensorConfig {
  /// For a manager of several sensors; it does not gate ``AwareSensor/start()``.
  public var enabled: Bool {
    get { values.enabled }
    set { values.enabled = newValue }
  }
  /// Whether the sensor logs what it does.
  public var debug: Bool {
    get { values.debug }
    set { values.debug = newValue }
  }
  /// The label of records from now on.
  public var label: String {
    get { values.label }
    set { values.label = newValue }
  }
  /// The device id of records; "" means the one that all AWARE sensors on the device share.
  public var deviceId: String {
    get { values.deviceId }
    set { values.deviceId = newValue }
  }
  /// The key of the store: a passphrase, or a raw key `x'…'` of 64 hexadecimal digits (96 with the salt).
  ///
  /// Required with ``DatabaseType/sqlite``; an error with ``DatabaseType/none``.
  public var dbEncryptionKey: String? {
    get { values.dbEncryptionKey }
    set {
      values.withLock { values in
        values.dbEncryptionKey = newValue
        values.encryptionKey = nil
      }
    }
  }
  /// A key that is no `String`, which could not be wiped. It goes before `dbEncryptionKey`, until that is set.
  package var encryptionKey: EncryptionKey? {
    get { values.encryptionKey }
    set { values.encryptionKey = newValue }
  }
  /// Read when the store is opened: at the first record, or at ``AwareSensor/start()``. So are the path and the key.
  public var dbType: DatabaseType {
    get { values.dbType }
    set { values.dbType = newValue }
  }
  /// The store's file: an absolute path, or a name in the app's default folder.
  public var dbPath: String {
    get { values.dbPath }
    set { values.dbPath = newValue }
  }
  /// The host that records are sent to.
  public var dbHost: String? {
    get { values.dbHost }
    set { values.dbHost = newValue }
  }
  /// Accepted for the interface's sake: the tables have the names of the public sensor.
  public var dbTableName: String? {
    get { values.dbTableName }
    set { values.dbTableName = newValue }
  }
  public var serverType: ServerType {
    get { values.study.serverType }
    set { values.study.serverType = newValue }
  }
  public var studyNumber: Int {
    get { values.study.studyNumber }
    set { values.study.studyNumber = newValue }
  }
  public var studyKey: String {
    get { values.study.studyKey }
    set { values.study.studyKey = newValue }
  }

  struct Values {
    var enabled = false
    var debug = false
    var label = ""
    var deviceId = ""
    var dbEncryptionKey: String?
    var encryptionKey: EncryptionKey?
    var dbType = DatabaseType.none
    var dbPath = "aware"
    var dbHost: String?
    var dbTableName: String?
    var study = StudySettings()
  }

  let values = Locked(Values())

  public init() {}

  /// Starts from the defaults and reads `config` as ``set(config:)`` does.
  public convenience init(_ config: [String: Any]) {
    self.init()
    set(config: config)
  }

  /// Takes over what `config` holds under the properties' names (also `study_number` and `study_key`).
  ///
  /// A key that is missing, or a value of another type, leaves the property as it is, the encryption key included.
  open func set(config: [String: Any]) {
    let dictionary = ConfigDictionary(config)
    values.withLock { values in
      dictionary.read("enabled", into: &values.enabled)
      dictionary.read("debug", into: &values.debug)
      dictionary.read("label", into: &values.label)
      dictionary.read("deviceId", into: &values.deviceId)
      let before = values.dbEncryptionKey
      dictionary.read("dbEncryptionKey", into: &values.dbEncryptionKey)
      if values.dbEncryptionKey != before { values.encryptionKey = nil }
      dictionary.read("dbType", into: &values.dbType)
      dictionary.read("dbPath", into: &values.dbPath)
      dictionary.read("dbHost", into: &values.dbHost)
      dictionary.read("dbTableName", into: &values.dbTableName)
      values.study.read(dictionary)
    }
  }

  /// What printing and mirrors show, in order. A subclass adds its own.
  var shown: [(label: String, value: Any)] {
    let values = values.snapshot
    return [
      ("enabled", values.enabled), ("debug", values.debug), ("label", values.label), ("deviceId", values.deviceId),
      ("dbEncryptionKey", Redacted(values.dbEncryptionKey)), ("dbType", values.dbType), ("dbPath", values.dbPath),
      ("dbHost", values.dbHost.map(HostText.withoutCredentials) as Any), ("dbTableName", values.dbTableName as Any),
    ] + values.study.shown
  }
}

extension SensorConfig: CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
  public var customMirror: Mirror { Mirror(self, showing: shown) }

  public var description: String { "\(type(of: self))\(text(of: shown))" }

  public var debugDescription: String { description }
}

extension Mirror {
  /// The mirror of a configuration: `settings`, and nothing else of it.
  init<Configuration>(_ configuration: Configuration, showing settings: [(label: String, value: Any)]) {
    self.init(
      configuration, children: settings.map { (label: Optional($0.label), value: $0.value) },
      ancestorRepresentation: .suppressed)
  }
}

func text(of settings: [(label: String, value: Any)]) -> String {
  "(\(settings.map { "\($0.label): \($0.value)" }.joined(separator: ", ")))"
}

/// Stands for a secret where settings are shown: tells whether there is one, and nothing of it.
struct Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  let description: String

  init(_ secret: String?) {
    description =
      switch secret {
      case nil: "nil"
      case "": "\"\""
      default: "<redacted>"
      }
  }

  var debugDescription: String { description }
  var customMirror: Mirror { Mirror(self, children: []) }
}

/// Hosts as they may be shown.
enum HostText {
  /// Scheme, host and port. User, password, path and query may hold credentials or the study's key.
  static func withoutCredentials(_ text: String) -> String {
    guard let url = URLComponents(string: text.contains("://") ? text : "https://" + text), let host = url.host,
      !host.isEmpty
    else {
      return "<not a host>"
    }
    let scheme = text.contains("://") ? (url.scheme ?? "") + "://" : ""
    return scheme + host + (url.port.map { ":\($0)" } ?? "")
  }
}
