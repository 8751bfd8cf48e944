import EncryptedSQLite
import Foundation
import NotificationSync

/// Is told how a sync ended.
public typealias DbSyncCompletionHandler = (_ status: Bool, _ error: Error?) -> Void
/// Is told how far a sync is, from 0 to 1.
public typealias DbSyncProgressHandler = (_ progress: Double, _ error: Error?) -> Void

/// How much the log of a sync tells.
public enum DbSyncDebugLevel: Int, CaseIterable, Sendable {
  case none = 0
  case error = 1
  case warning = 2
  case info = 3
  case verbose = 4
  case trace = 5

  /// Reads a number, or a case's name, as configurations write them.
  init?(_ value: Any?) {
    let named = (value as? String).flatMap { text in
      Self.allCases.first { "\($0)" == text.lowercased() || "\($0.rawValue)" == text }
    }
    guard let level = value as? Self ?? (value as? Int).flatMap({ Self(rawValue: $0) }) ?? named else { return nil }
    self = level
  }
}

/// The settings of uploads. Every property may be read and set from any thread.
///
/// - Note: `@unchecked Sendable`: its values are in `Locked`.
open class DbSyncConfig: @unchecked Sendable {
  /// Whether rows are deleted once the server has proved that it has them, which only an acknowledgement with numbers does.
  public var removeAfterSync: Bool {
    get { values.removeAfterSync }
    set { values.removeAfterSync = newValue }
  }
  /// Whether they are deleted, too, where the server says yes and proves nothing. Some servers say yes to rows that they
  /// could not store.
  public var removeWithoutProof: Bool {
    get { values.removeWithoutProof }
    set { values.removeWithoutProof = newValue }
  }
  /// Whether a server of type `aware` gets the columns that the public sensor does not know. Its tables must have them: it
  /// loses a batch with a column that they lack.
  public var extendedColumns: Bool {
    get { values.extendedColumns }
    set { values.extendedColumns = newValue }
  }
  /// Whether a server of type `aware` is asked to make its tables first. It makes one that is there already like ours, and may
  /// drop columns that ours lacks.
  public var createsTables: Bool {
    get { values.createsTables }
    set { values.createsTables = newValue }
  }
  /// The most rows in a batch.
  public var batchSize: Int {
    get { values.batchSize }
    set { values.batchSize = newValue }
  }
  /// Has no effect: what was sent is always marked, in the store itself.
  public var markAsSynced: Bool {
    get { values.markAsSynced }
    set { values.markAsSynced = newValue }
  }
  /// Has no effect: what was sent is never sent again.
  public var skipSyncedData: Bool {
    get { values.skipSyncedData }
    set { values.skipSyncedData = newValue }
  }
  /// Whether `removeAfterSync` leaves the last row of each table.
  public var keepLastData: Bool {
    get { values.keepLastData }
    set { values.keepLastData = newValue }
  }
  /// The device id in a batch's envelope; nil means that of the sensor.
  public var deviceId: String? {
    get { values.deviceId }
    set { values.deviceId = newValue }
  }
  public var debug: Bool {
    get { values.debug }
    set { values.debug = newValue }
  }
  public var debugLevel: DbSyncDebugLevel {
    get { values.debugLevel }
    set { values.debugLevel = newValue }
  }
  public var completionHandler: DbSyncCompletionHandler? {
    get { values.completionHandler }
    set { values.completionHandler = newValue }
  }
  public var progressHandler: DbSyncProgressHandler? {
    get { values.progressHandler }
    set { values.progressHandler = newValue }
  }
  /// Where the handlers are called; nil means the sensor's `callbackQueue`.
  public var dispatchQueue: DispatchQueue? {
    get { values.dispatchQueue }
    set { values.dispatchQueue = newValue }
  }
  /// Has no effect off Apple's systems.
  public var backgroundSession: Bool {
    get { values.backgroundSession }
    set { values.backgroundSession = newValue }
  }
  /// Whether a batch is written column by column.
  public var compactDataFormat: Bool {
    get { values.compactDataFormat }
    set { values.compactDataFormat = newValue }
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

  private struct Values {
    var removeAfterSync = false
    var removeWithoutProof = false
    var extendedColumns = false
    var createsTables = false
    var batchSize = 1000
    var markAsSynced = false
    var skipSyncedData = false
    var keepLastData = false
    var deviceId: String?
    var debug = false
    var debugLevel = DbSyncDebugLevel.info
    var completionHandler: DbSyncCompletionHandler?
    var progressHandler: DbSyncProgressHandler?
    var dispatchQueue: DispatchQueue?
    var backgroundSession = false
    var compactDataFormat = false
    var study = StudySettings()
  }

  private let values = Locked(Values())

  public init() {}

  /// Starts from the defaults and reads `config` as ``set(config:)`` does.
  public convenience init(_ config: [String: Any]) {
    self.init()
    set(config: config)
  }

  /// Takes over what `config` holds under the properties' names; the rest stays as it is.
  open func set(config: [String: Any]) {
    let dictionary = ConfigDictionary(config)
    // Handed out, so that replaced handlers are let go of after the lock.
    _ = values.withLock { values in
      let before = values
      dictionary.read("removeAfterSync", into: &values.removeAfterSync)
      dictionary.read("removeWithoutProof", into: &values.removeWithoutProof)
      dictionary.read("extendedColumns", into: &values.extendedColumns)
      dictionary.read("createsTables", into: &values.createsTables)
      dictionary.read("batchSize", into: &values.batchSize)
      dictionary.read("markAsSynced", into: &values.markAsSynced)
      dictionary.read("skipSyncedData", into: &values.skipSyncedData)
      dictionary.read("keepLastData", into: &values.keepLastData)
      dictionary.read("deviceId", into: &values.deviceId)
      dictionary.read("debug", into: &values.debug)
      if let level = DbSyncDebugLevel(dictionary.value("debugLevel")) { values.debugLevel = level }
      dictionary.read("backgroundSession", into: &values.backgroundSession)
      if let mode: String = dictionary.value("compressionMode") {
        values.compactDataFormat = mode.lowercased() == "compact"
      }
      dictionary.read("compactDataFormat", into: &values.compactDataFormat)
      values.study.read(dictionary)
      if let queue: DispatchQueue = dictionary.value("dispatchQueue") { values.dispatchQueue = queue }
      if let handler: DbSyncCompletionHandler = dictionary.value("completionHandler") {
        values.completionHandler = handler
      }
      if let handler: DbSyncProgressHandler = dictionary.value("progressHandler") { values.progressHandler = handler }
      return before
    }
  }

  /// Calls `closure` with this object and returns it, for settings in one expression.
  @discardableResult
  public func apply(closure: (_ config: DbSyncConfig) -> Void) -> Self {
    closure(self)
    return self
  }
}

extension DbSyncConfig: CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
  private var shown: [(label: String, value: Any)] {
    let values = values.snapshot
    return [
      ("removeAfterSync", values.removeAfterSync), ("removeWithoutProof", values.removeWithoutProof),
      ("extendedColumns", values.extendedColumns), ("createsTables", values.createsTables),
      ("batchSize", values.batchSize),
      ("markAsSynced", values.markAsSynced), ("skipSyncedData", values.skipSyncedData),
      ("keepLastData", values.keepLastData), ("deviceId", values.deviceId as Any), ("debug", values.debug),
      ("debugLevel", values.debugLevel), ("backgroundSession", values.backgroundSession),
      ("compactDataFormat", values.compactDataFormat),
    ] + values.study.shown
  }

  public var customMirror: Mirror { Mirror(self, showing: shown) }

  public var description: String { "\(type(of: self))\(text(of: shown))" }

  public var debugDescription: String { description }
}
