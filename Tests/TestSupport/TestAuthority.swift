import Foundation

/// A certificate authority of one test, made with the `openssl` command. All keys are on P-256.
public struct TestAuthority: Sendable {
  /// A certificate with its key: of a server, or of a client.
  public struct Identity: Sendable {
    /// The path of the certificate, PEM.
    public let certificate: String
    /// The path of its private key, PEM, without a passphrase.
    public let key: String
    /// The path of a file with the certificate and, where one signed it, the authority's.
    public let chain: String
    /// The digest of its public key as libcurl writes it: `sha256//` and base64 (SHA-256 of the SubjectPublicKeyInfo).
    public let pin: String
  }

  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  /// One for all tests that need none of their own, for making one takes its time; and a server's certificate of it.
  public static var shared: (authority: TestAuthority, identity: Identity) { get throws { try made.get() } }
  private static let sharedFolder = TemporaryFolder()
  private static let made = Result {
    atexit { try? FileManager.default.removeItem(atPath: TestAuthority.sharedFolder.path) }
    let authority = try TestAuthority(in: sharedFolder)
    return (authority: authority, identity: try authority.leaf())
  }

  private let folder: TemporaryFolder
  /// The path of the authority's certificate: what a client takes as its CA bundle.
  public let certificate: String
  private let key: String

  public init(in folder: TemporaryFolder, name: String = "Test authority") throws {
    self.folder = folder
    let stem = "authority-" + UUID().uuidString.prefix(8)
    certificate = folder.path(stem + ".pem")
    key = folder.path(stem + ".key")
    try Self.makeKey(key)
    try Self.openssl(
      "req", "-new", "-x509", "-key", key, "-out", certificate, "-subj", "/CN=" + name, "-days", "30",
      "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
  }

  /// A server's certificate.
  ///
  /// - Parameters:
  ///   - names: the host names and IP addresses that it is for.
  ///   - expired: whether it ended yesterday.
  ///   - key: an identity whose key it shares, as a renewed certificate may.
  public func leaf(
    name: String = "localhost", names: [String] = ["localhost", "127.0.0.1"], expired: Bool = false,
    key: Identity? = nil
  ) throws -> Identity {
    try sign(name, names, usage: "serverAuth", days: expired ? -1 : 30, key: key?.key)
  }

  /// A server's certificate that no authority signed.
  public func selfSigned(
    name: String = "localhost", names: [String] = ["localhost", "127.0.0.1"]
  ) throws -> Identity {
    let stem = "self-signed-" + UUID().uuidString.prefix(8)
    let (certificate, key) = (folder.path(stem + ".pem"), folder.path(stem + ".key"))
    try Self.makeKey(key)
    try Self.openssl(
      "req", "-new", "-x509", "-key", key, "-out", certificate, "-subj", "/CN=" + name, "-days", "30",
      "-addext", "subjectAltName=" + Self.alternatives(names))
    return try Identity(certificate: certificate, key: key, chain: certificate, pin: Self.pin(of: key))
  }

  /// A client's certificate.
  public func client(name: String = "client", expired: Bool = false) throws -> Identity {
    try sign(name, [name], usage: "clientAuth", days: expired ? -1 : 30, key: nil)
  }

  private func sign(
    _ name: String, _ names: [String], usage: String, days: Int, key shared: String?
  ) throws -> Identity {
    let stem = "\(usage)-" + UUID().uuidString.prefix(8)
    let (certificate, request) = (folder.path(stem + ".pem"), folder.path(stem + ".csr"))
    let key = shared ?? folder.path(stem + ".key")
    if shared == nil { try Self.makeKey(key) }
    try Self.openssl(
      "req", "-new", "-key", key, "-out", request, "-subj", "/CN=" + name,
      "-addext", "subjectAltName=" + Self.alternatives(names), "-addext", "basicConstraints=critical,CA:FALSE",
      "-addext", "extendedKeyUsage=" + usage)
    try Self.openssl(
      "x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial",
      "-copy_extensions", "copyall", "-days", "\(days)", "-out", certificate)
    let chain = try [certificate, self.certificate].map { try String(contentsOfFile: $0, encoding: .utf8) }
    return try Identity(
      certificate: certificate, key: key, chain: folder.write(stem + ".chain.pem", chain.joined()),
      pin: Self.pin(of: key))
  }

  private static func makeKey(_ path: String) throws {
    try openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)
  }

  private static func alternatives(_ names: [String]) -> String {
    names.map { name in
      let isAddress = name.contains(":") || name.allSatisfy { $0.isNumber || $0 == "." }
      return (isAddress ? "IP:" : "DNS:") + name
    }.joined(separator: ",")
  }

  private static func pin(of key: String) throws -> String {
    let command = #"openssl pkey -in "$1" -pubout -outform DER | openssl dgst -sha256 -binary | openssl base64"#
    let result = try Program.run("/bin/sh", ["-c", command, "sh", key])
    guard let digest = result.lines.first else { throw Failure(description: result.errors) }
    return "sha256//" + digest
  }

  private static func openssl(_ arguments: String...) throws {
    let result = try Program.run("/usr/bin/env", ["openssl"] + arguments)
    guard result.status == 0 else { throw Failure(description: "openssl \(arguments[0]): \(result.errors)") }
  }
}
