import EncryptedSQLite
import Foundation
import NotificationSync
import com_awareframework_ios_sensor_notification

extension Option {
  /// What says where records go, and how.
  static let upload = [
    Option(name: "host", value: "HOST", help: "the server: a host name, or a URL, always used as https"),
    Option(name: "server-type", value: "TYPE", help: "aware_micro (unless told otherwise), aware_light or aware"),
    Option(name: "study", value: "NUMBER", help: "the study's number (1)"),
    Option(
      name: "study-key-file", value: "FILE", file: .secret, stream: .input,
      help: "read the study's key from FILE, which only you may read, less one final LF or CRLF"),
    Option(
      name: "signing-key-file", value: "FILE", file: .secret, stream: .input,
      help: "sign each batch with the 32 or more bytes in FILE, less one final LF or CRLF"),
    Option(name: "signing-key-id", value: "ID", help: "what the server knows that key by (the device id)"),
    Option(
      name: "ca", value: "FILE", file: .ordinary,
      help: "trust the certificate authorities in FILE (PEM), not the system's"),
    Option(name: "pin", value: "PIN", repeats: true, help: "accept this public key only: sha256//BASE64; repeatable"),
    Option(name: "client-cert", value: "FILE", file: .ordinary, help: "the certificate (PEM) to show to the server"),
    Option(name: "client-key", value: "FILE", file: .secret, help: "its private key (PEM), which only you may read"),
    Option(name: "proxy", value: "URL", help: "go through this proxy: http://host:port"),
    Option(name: "batch-size", value: "N", help: "the most rows in a batch (1000)"),
    Option(name: "compact", help: "write batches column by column (not for aware)"),
    Option(name: "extended-columns", help: "send aware the columns beyond the public sensor's"),
    Option(
      name: "create-tables", help: "have a server of type aware make its tables first; it may change existing ones"),
    Option(name: "remove-after-sync", help: "delete rows here once the server has proved that it has them"),
    Option(name: "remove-without-proof", help: "delete them, too, where it says yes and proves nothing"),
  ]
}

/// Where `--host` and the options with it say that records go. Each secret is read once: its file may be a pipe.
struct Upload {
  private var settings: SyncSettings
  private let signing: (secret: SecureBytes?, id: String?)

  /// - Throws: ``UsageError``, also for each value that cannot be used; what else reading a secret throws.
  init(_ arguments: Arguments) throws {
    settings = SyncSettings(host: try arguments.required("host"))
    settings.serverType = try Self.serverType(arguments.value("server-type"))
    if let number = try arguments.integer("study") { settings.studyNumber = Int(number) }
    if let key = try Self.secret("study-key-file", arguments) {
      guard let text = key.withUnsafeBytes({ String(bytes: $0, encoding: .utf8) }) else {
        throw UsageError("--study-key-file: the study's key is not text in UTF-8, as a part of a URL is")
      }
      settings.studyKey = text
    }
    signing = (try Self.secret("signing-key-file", arguments), arguments.value("signing-key-id"))
    guard signing.secret != nil || signing.id == nil else {
      throw UsageError("--signing-key-id is given without --signing-key-file")
    }
    settings.tls = TLSPolicy(
      certificateAuthorities: arguments.value("ca"), publicKeyPins: arguments.values("pin"),
      clientCertificate: arguments.value("client-cert"), clientKey: arguments.value("client-key"),
      proxy: arguments.value("proxy"))
    if let size = try arguments.integer("batch-size") {
      guard let size = Int(exactly: size), SyncSettings.batchSizes.contains(size) else {
        throw UsageError("--batch-size is \(size): give 1 to \(SyncSettings.batchSizes.upperBound) rows")
      }
      settings.batchSize = size
    }
    settings.compactDataFormat = arguments.has("compact")
    settings.extendedColumns = arguments.has("extended-columns")
    settings.createsTables = arguments.has("create-tables")
    settings.removeAfterSync = arguments.has("remove-after-sync")
    settings.removeWithoutProof = arguments.has("remove-without-proof")
    guard settings.removeAfterSync || !settings.removeWithoutProof else {
      throw UsageError("--remove-without-proof goes with --remove-after-sync")
    }
    // Now, before the store's key is asked for.
    try checkValues()
  }

  /// Each by itself, so that the message can name its option.
  private func checkValues() throws {
    _ = try named("host") {
      try UploadHost(settings.host, serverType: settings.serverType, of: "the host")
    }
    let tls = settings.tls
    try named("pin", TLSPolicy(publicKeyPins: tls.publicKeyPins).check)
    try named("proxy", TLSPolicy(proxy: tls.proxy).check)
    try named("ca", TLSPolicy(certificateAuthorities: tls.certificateAuthorities).check)
    try named(
      tls.clientCertificate == nil ? "client-key" : "client-cert",
      TLSPolicy(clientCertificate: tls.clientCertificate, clientKey: tls.clientKey).check)
    guard settings.serverType != .aware || !settings.compactDataFormat else {
      throw UsageError("--compact cannot be read by a server of type aware: leave it out")
    }
    if let secret = signing.secret {
      try secret.withUnsafeBytes { bytes in
        _ = try named("signing-key-file") { try SigningKey(bytes, id: "any") }
        if let id = signing.id { _ = try named("signing-key-id") { try SigningKey(bytes, id: id) } }
      }
    }
    _ = try settings(deviceId: "device")
  }

  private func named<Result>(_ option: String, _ check: () throws -> Result) throws -> Result {
    do {
      return try check()
    } catch let error as DatabaseError where error.code == .invalidSyncSettings {
      throw UsageError("--\(option): \(error.message)")
    }
  }

  /// As a sync by hand takes them.
  func settings(deviceId: String) throws -> SyncSettings {
    var settings = settings
    settings.deviceId = deviceId
    if let secret = signing.secret {
      settings.signingKey = try secret.withUnsafeBytes { try SigningKey($0, id: signing.id ?? deviceId) }
    }
    try settings.check()
    return settings
  }

  /// Gives them to a sensor, as an app would.
  func configure(_ config: NotificationSensor.Config, _ upload: DbSyncConfig) {
    config.dbHost = settings.host
    config.serverType = settings.serverType
    config.studyNumber = settings.studyNumber
    config.studyKey = settings.studyKey
    config.syncSigningKey = signing.secret?.withUnsafeBytes { Data($0) }
    config.syncSigningKeyId = signing.id
    config.tls = settings.tls
    upload.batchSize = settings.batchSize
    upload.compactDataFormat = settings.compactDataFormat
    upload.extendedColumns = settings.extendedColumns
    upload.createsTables = settings.createsTables
    upload.removeAfterSync = settings.removeAfterSync
    upload.removeWithoutProof = settings.removeWithoutProof
  }

  private static func serverType(_ name: String?) throws -> ServerType {
    switch name {
    case nil, "aware_micro": .aware_micro
    case "aware_light": .aware_light
    case "aware": .aware
    case _?: throw UsageError("--server-type is one of aware_micro, aware_light, aware")
    }
  }

  private static func secret(_ option: String, _ arguments: Arguments) throws -> SecureBytes? {
    guard let path = arguments.value(option) else { return nil }
    do {
      let secret =
        try path == "-"
        ? KeyFile.withBytes(ofDescriptor: STDIN_FILENO) { SecureBytes.copy($0) }
        : KeyFile.withBytes(of: path) { SecureBytes.copy($0) }
      guard secret.count > 0 else { throw UsageError("the file given with --\(option) is empty: check it") }
      return secret
    } catch let error as DatabaseError where error.code == .keyNotFound {
      throw UsageError("there is no file of the name given with --\(option): check the name")
    }
  }
}
