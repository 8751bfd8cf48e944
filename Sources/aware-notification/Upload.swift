import EncryptedSQLite
import Foundation
import NotificationSync

extension Option {
  /// What says where records go, and how.
  static let upload = [
    Option(name: "host", value: "HOST", help: "the server: a host name, or a URL, always used as https"),
    Option(name: "server-type", value: "TYPE", help: "aware_micro (unless told otherwise), aware_light or aware"),
    Option(name: "study", value: "NUMBER", help: "the study's number (1)"),
    Option(name: "study-key-file", value: "FILE", help: "read the study's key from FILE, which only you may read"),
    Option(name: "signing-key-file", value: "FILE", help: "sign each batch with the 32 or more bytes in FILE"),
    Option(name: "signing-key-id", value: "ID", help: "what the server knows that key by (the device id)"),
    Option(name: "ca", value: "FILE", help: "trust the certificate authorities in FILE (PEM), not the system's"),
    Option(name: "pin", value: "PIN", repeats: true, help: "accept this public key only: sha256//BASE64; repeatable"),
    Option(name: "client-cert", value: "FILE", help: "the certificate (PEM) to show to the server"),
    Option(name: "client-key", value: "FILE", help: "its private key (PEM), which only you may read"),
    Option(name: "proxy", value: "URL", help: "go through this proxy: http://host:port"),
    Option(name: "batch-size", value: "N", help: "the most rows in a batch (1000)"),
    Option(name: "compact", help: "write batches column by column (not for aware)"),
    Option(name: "extended-columns", help: "send aware the columns beyond the public sensor's"),
    Option(name: "create-tables", help: "ask a server of type aware to make its tables first"),
    Option(name: "remove-after-sync", help: "delete rows here once the server has proved that it has them"),
    Option(name: "remove-without-proof", help: "delete them, too, where it says yes and proves nothing"),
  ]
}

extension Arguments {
  func syncSettings(deviceId: String) throws -> SyncSettings {
    var settings = SyncSettings(host: try required("host"), deviceId: deviceId)
    settings.serverType = try serverType()
    if let number = try integer("study") { settings.studyNumber = Int(number) }
    if let path = value("study-key-file") {
      settings.studyKey = try Self.secret("study-key-file", path) { String(decoding: $0, as: UTF8.self) }
    }
    if let path = value("signing-key-file") {
      let id = value("signing-key-id") ?? deviceId
      settings.signingKey = try Self.secret("signing-key-file", path) { try SigningKey($0, id: id) }
    } else if has("signing-key-id") {
      throw UsageError("--signing-key-id is given without --signing-key-file")
    }
    settings.tls = TLSPolicy(
      certificateAuthorities: value("ca"), publicKeyPins: values("pin"), clientCertificate: value("client-cert"),
      clientKey: value("client-key"), proxy: value("proxy"))
    if let size = try integer("batch-size") { settings.batchSize = Int(size) }
    settings.compactDataFormat = has("compact")
    settings.extendedColumns = has("extended-columns")
    settings.createsTables = has("create-tables")
    settings.removeAfterSync = has("remove-after-sync")
    settings.removeWithoutProof = has("remove-without-proof")
    guard settings.removeAfterSync || !settings.removeWithoutProof else {
      throw UsageError("--remove-without-proof goes with --remove-after-sync")
    }
    try settings.check()
    return settings
  }

  private func serverType() throws -> ServerType {
    switch value("server-type") {
    case nil, "aware_micro": .aware_micro
    case "aware_light": .aware_light
    case "aware": .aware
    case _?: throw UsageError("--server-type is one of aware_micro, aware_light, aware")
    }
  }

  /// - Parameter option: named where the file is not there: what is given there may be the secret itself.
  private static func secret<Result>(
    _ option: String, _ path: String, _ read: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    do {
      return try KeyFile.withBytes(of: path, read)
    } catch let error as DatabaseError where error.code == .keyNotFound {
      throw DatabaseError(.keyNotFound, "there is no file of the name given with --\(option): check the name")
    }
  }
}
