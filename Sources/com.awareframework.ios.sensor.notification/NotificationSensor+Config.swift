import EncryptedSQLite
import Foundation
import NotificationSync

extension NotificationSensor {
  /// The settings of a ``NotificationSensor``.
  ///
  /// ```swift
  /// let config = NotificationSensor.Config().apply { config in
  ///   config.dbType = Engine.DatabaseType.sqlite
  ///   config.dbEncryptionKey = key
  /// }
  /// ```
  ///
  /// - Note: `@unchecked Sendable`: its settings, and those of `SensorConfig`, are in `Locked`.
  open class Config: SensorConfig, @unchecked Sendable {
    /// Is told of what the sensor receives. The sensor keeps it alive.
    public var sensorObserver: NotificationObserver? {
      get { settings.sensorObserver }
      set { settings.sensorObserver = newValue }
    }
    /// Whether ``NotificationSensor/start()`` asks the person for permission to notify.
    public var requestPermission: Bool {
      get { settings.requestPermission }
      set { settings.requestPermission = newValue }
    }
    /// The key that may still be in force, if a rotation to `dbEncryptionKey` was cut short. The sensor then finishes it.
    public var dbPreviousEncryptionKey: String? {
      get { settings.dbPreviousEncryptionKey }
      set { settings.dbPreviousEncryptionKey = newValue }
    }
    /// Keeps the key in place of `dbEncryptionKey`, and makes one with a new store.
    public var encryptionKeyStore: (any EncryptionKeyStore)? {
      get { settings.encryptionKeyStore }
      set { settings.encryptionKeyStore = newValue }
    }
    /// What becomes of a plaintext store of the public sensor that stands where the encrypted one belongs.
    public var plaintextStorePolicy: PlaintextStorePolicy {
      get { settings.plaintextStorePolicy }
      set { settings.plaintextStorePolicy = newValue }
    }
    /// What becomes of a store in the format of an older SQLCipher than the one that is linked.
    public var legacyCipherPolicy: LegacyCipherPolicy {
      get { settings.legacyCipherPolicy }
      set { settings.legacyCipherPolicy = newValue }
    }
    /// Where observers, broadcasts and completion handlers are called: a serial queue.
    public var callbackQueue: DispatchQueue {
      get { settings.callbackQueue }
      set { settings.callbackQueue = newValue }
    }
    /// How far a commit reaches: `.normal` survives a kill, `.full` also a power cut.
    public var synchronous: Synchronous {
      get { settings.synchronous }
      set { settings.synchronous = newValue }
    }
    /// Rows older than this, in seconds, are deleted once they were sent; nil keeps them.
    public var maximumAge: TimeInterval? {
      get { settings.maximumAge }
      set { settings.maximumAge = newValue }
    }

    /// Signs each batch (HMAC-SHA-256): 32 bytes or more that the receiver has as well. One for each device is best: who
    /// knows a key that all share can speak for every device. A key of `keygen --signing` is the 64 digits as ASCII,
    /// without the line end after them, not the 32 bytes that they could be decoded to.
    public var syncSigningKey: Data? {
      get { settings.syncSigningKey }
      set { settings.syncSigningKey = newValue }
    }
    /// What the receiver knows the signing key by; nil means the device id.
    public var syncSigningKeyId: String? {
      get { settings.syncSigningKeyId }
      set { settings.syncSigningKeyId = newValue }
    }
    /// Whom uploads trust, and as whom they come.
    public var tls: TLSPolicy {
      get { settings.tls }
      set { settings.tls = newValue }
    }

    /// The app group that app and extension share (the capability App Groups): store and settings are there. A group that
    /// is missing or unknown is an error, and nothing is stored elsewhere.
    public var appGroupIdentifier: String? {
      get { settings.appGroupIdentifier }
      set { settings.appGroupIdentifier = newValue }
    }
    /// Where the service extension sends a receipt for each push, without any content: an `https` URL. nil sends none.
    public var deliveryReceiptURL: String? {
      get { settings.deliveryReceiptURL }
      set { settings.deliveryReceiptURL = newValue }
    }

    public typealias Synchronous = Connection.Synchronous

    /// As `encryptionKey`, in place of `dbPreviousEncryptionKey`.
    package var previousEncryptionKey: EncryptionKey? {
      get { settings.previousEncryptionKey }
      set { settings.previousEncryptionKey = newValue }
    }

    struct Settings {
      var sensorObserver: NotificationObserver?
      var requestPermission = true
      var plaintextStorePolicy = PlaintextStorePolicy.adopt
      var legacyCipherPolicy = LegacyCipherPolicy.openAsIs
      var callbackQueue = DispatchQueue.main
      var synchronous = Synchronous.normal
      var maximumAge: TimeInterval?
      var dbPreviousEncryptionKey: String?
      var encryptionKeyStore: (any EncryptionKeyStore)?
      var previousEncryptionKey: EncryptionKey?
      var syncSigningKey: Data?
      var syncSigningKeyId: String?
      var tls = TLSPolicy()
      var appGroupIdentifier: String?
      var deliveryReceiptURL: String?
    }

    let settings = Locked(Settings())

    public override init() {
      super.init()
      dbPath = "aware_notification"
    }

    open override func set(config: [String: Any]) {
      super.set(config: config)
      let dictionary = ConfigDictionary(config)
      settings.withLock { settings in
        dictionary.read("requestPermission", into: &settings.requestPermission)
        dictionary.read("dbPreviousEncryptionKey", into: &settings.dbPreviousEncryptionKey)
        if let key: Data = dictionary.value("syncSigningKey") { settings.syncSigningKey = key }
        dictionary.read("syncSigningKeyId", into: &settings.syncSigningKeyId)
        dictionary.read("appGroupIdentifier", into: &settings.appGroupIdentifier)
        dictionary.read("deliveryReceiptURL", into: &settings.deliveryReceiptURL)
      }
    }

    /// Calls `closure` with this object and returns it, for settings in one expression.
    @discardableResult
    public func apply(closure: (_ config: NotificationSensor.Config) -> Void) -> Self {
      closure(self)
      return self
    }

    override var shown: [(label: String, value: Any)] {
      let settings = settings.snapshot
      var tls = settings.tls
      tls.proxy = tls.proxy.map { HostText.withoutCredentials($0) }
      return super.shown + [
        // The observer is the app's: its type tells enough.
        ("sensorObserver", settings.sensorObserver.map { "\(type(of: $0))" } as Any),
        ("requestPermission", settings.requestPermission), ("plaintextStorePolicy", settings.plaintextStorePolicy),
        ("legacyCipherPolicy", settings.legacyCipherPolicy), ("callbackQueue", settings.callbackQueue.label),
        ("synchronous", settings.synchronous),
        ("maximumAge", settings.maximumAge as Any),
        ("dbPreviousEncryptionKey", Redacted(settings.dbPreviousEncryptionKey)),
        ("syncSigningKey", Redacted(settings.syncSigningKey.map { $0.isEmpty ? "" : "set" })),
        ("syncSigningKeyId", settings.syncSigningKeyId as Any), ("tls", tls),
        ("appGroupIdentifier", settings.appGroupIdentifier as Any),
        ("deliveryReceiptURL", settings.deliveryReceiptURL.map(HostText.withoutCredentials) as Any),
        ("encryptionKeyStore", settings.encryptionKeyStore.map { "\(type(of: $0))" } as Any),
      ]
    }
  }
}

/// What becomes of a plaintext store of the public sensor that stands where the encrypted one belongs.
public enum PlaintextStorePolicy: Sendable {
  /// Its rows are taken over into an encrypted store, and then it is overwritten and removed.
  case adopt
  /// Opening fails with `notEncrypted`.
  case refuse
}

/// What becomes of a store in the format of an older SQLCipher than the one that is linked.
public enum LegacyCipherPolicy: Sendable {
  /// It is used as it is.
  case openAsIs
  /// A verified copy in the newer format takes its place.
  case upgrade
}
