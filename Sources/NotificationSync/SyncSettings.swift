import Foundation

/// Where records are sent, in which form, and what becomes of them then.
public struct SyncSettings: Sendable {
  /// A host name, or a URL; always used as `https`.
  public var host: String
  public var serverType: ServerType
  public var studyNumber: Int
  public var studyKey: String
  /// The device id in a batch's envelope.
  public var deviceId: String
  /// The most rows in a batch.
  public var batchSize: Int
  /// Whether a batch is written column by column; not for ``ServerType/aware``.
  public var compactDataFormat: Bool
  /// Whether ``ServerType/aware`` gets the columns that the public sensor does not know; its tables must have them.
  public var extendedColumns: Bool
  /// Whether ``ServerType/aware`` is asked to make its tables first.
  public var createsTables: Bool
  /// Whether rows are deleted once the server has proved that it has them.
  public var removeAfterSync: Bool
  /// Whether they are deleted, too, where the server says yes and proves nothing.
  public var removeWithoutProof: Bool
  /// Whether a table's last row stays all the same.
  public var keepLastData: Bool
  /// Signs each batch.
  public var signingKey: SigningKey?
  public var tls: TLSPolicy
  /// Where receipts go that wait in the store; nil leaves them there.
  public var deliveryReceiptURL: String?

  package static let batchSizes = 1...100_000
  /// The most bytes of a body, unless its only row is longer.
  package var byteLimit = Self.fullBatch
  package static let fullBatch = 4 << 20
  package var backoff = Backoff()
  /// Attempts of one batch in one sync, where the wait between them is short.
  package var attemptsPerSync = 3
  /// The longest such wait, in seconds.
  package var longestWait: Double = 5
  /// For how long, in seconds, a holder that was killed is in the way of the next.
  package var leaseDuration: Double = 30

  public init(
    host: String, serverType: ServerType = .aware_micro, studyNumber: Int = 1, studyKey: String = "",
    deviceId: String = "", batchSize: Int = 1000, compactDataFormat: Bool = false, extendedColumns: Bool = false,
    createsTables: Bool = false, removeAfterSync: Bool = false, removeWithoutProof: Bool = false,
    keepLastData: Bool = false, signingKey: SigningKey? = nil, tls: TLSPolicy = TLSPolicy(),
    deliveryReceiptURL: String? = nil
  ) {
    self.host = host
    self.serverType = serverType
    self.studyNumber = studyNumber
    self.studyKey = studyKey
    self.deviceId = deviceId
    self.batchSize = batchSize
    self.compactDataFormat = compactDataFormat
    self.extendedColumns = extendedColumns
    self.createsTables = createsTables
    self.removeAfterSync = removeAfterSync
    self.removeWithoutProof = removeWithoutProof
    self.keepLastData = keepLastData
    self.signingKey = signingKey
    self.tls = tls
    self.deliveryReceiptURL = deliveryReceiptURL
  }

  /// Looks for what cannot be, before anything is opened or sent.
  ///
  /// - Throws: `invalidSyncSettings`.
  public func check() throws { _ = try UploadTarget(self) }

  /// Where records would go, without the study's key.
  package var destination: String { (try? UploadTarget(self).destination) ?? "" }
}

extension SyncSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Neither the study's key nor the signing key is shown.
  public var description: String {
    "SyncSettings(serverType: \(serverType), studyNumber: \(studyNumber), batchSize: \(batchSize), removeAfterSync: \(removeAfterSync), isSigned: \(signingKey != nil))"
  }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["serverType": serverType, "batchSize": batchSize]) }
}

/// The settings as they are acted on.
struct UploadTarget: Sendable {
  let serverType: ServerType
  let host: UploadHost
  let study: (number: Int, key: String)
  let format: BatchFormat

  /// - Throws: `invalidSyncSettings`, before anything is sent.
  init(_ settings: SyncSettings) throws {
    serverType = settings.serverType
    host = try UploadHost(settings.host, serverType: settings.serverType)
    study = (settings.studyNumber, settings.studyKey)
    guard SyncSettings.batchSizes.contains(settings.batchSize) else {
      throw SyncError(.invalidSyncSettings, "batchSize is \(settings.batchSize): give 1 to 100000 rows")
    }
    guard !(settings.serverType == .aware && settings.compactDataFormat) else {
      throw SyncError(
        .invalidSyncSettings, "compactDataFormat cannot be read by a server of type aware: switch it off")
    }
    guard !settings.deviceId.isEmpty else {
      throw SyncError(.invalidSyncSettings, "there is no device id to send records under: set deviceId")
    }
    // Else it would come up when the records are sent already, and hide what became of them.
    if let url = settings.deliveryReceiptURL, !url.isEmpty { _ = try UploadPlace(url: url, of: "deliveryReceiptURL") }
    switch settings.serverType {
    case .none: throw SyncError(.invalidSyncSettings, "serverType is none: choose the kind of server")
    case .aware: format = BatchFormat(body: .form, hasID: true, isExtended: settings.extendedColumns)
    case .aware_micro, .aware_light:
      format = BatchFormat(
        body: settings.compactDataFormat ? .columns : .rows, hasID: settings.serverType == .aware_micro,
        isExtended: true)
      return
    }
  }

  /// What the ledger calls it. Without the study's key: a batch refused for a wrong one goes out again as it was.
  var destination: String { "https://\(host.authority)\(host.basePath) \(serverType) study \(study.number)" }

  /// As errors and logs may name it.
  var name: String { "https://\(host.authority)" }

  func place(of table: String, action: String = "insert") -> UploadPlace {
    switch serverType {
    case .aware_micro, .none:
      UploadPlace(host, segments: ["api", "\(study.number)", study.key, action], endsWithSlash: true)
    case .aware_light: UploadPlace(host, segments: [action], endsWithSlash: true)
    case .aware:
      UploadPlace(
        host, segments: ["index.php", "webservice", "index", "\(study.number)", study.key, table, action],
        endsWithSlash: false)
    }
  }
}
