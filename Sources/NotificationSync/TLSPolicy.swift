/// Whom an upload trusts, and as whom it comes, beyond the system's certificate authorities.
public struct TLSPolicy: Sendable, Equatable {
  /// A PEM file of the certificate authorities that are trusted in place of the system's.
  public var certificateAuthorities: String?
  /// Public keys, one of which the server's own certificate must have: `sha256//` and the base64 of the SHA-256 of its
  /// SubjectPublicKeyInfo (RFC 7469, section 2.4). Empty means any key. Name a backup key too.
  public var publicKeyPins: [String]
  /// A PEM file of the certificate to show to the server, and of its chain.
  public var clientCertificate: String?
  /// The PEM file of that certificate's private key, without a passphrase; only its owner may read it.
  public var clientKey: String?
  /// The proxy to go through, as `http://host:port`; nil means none, whatever the environment says.
  public var proxy: String?

  public init(
    certificateAuthorities: String? = nil, publicKeyPins: [String] = [], clientCertificate: String? = nil,
    clientKey: String? = nil, proxy: String? = nil
  ) {
    self.certificateAuthorities = certificateAuthorities
    self.publicKeyPins = publicKeyPins
    self.clientCertificate = clientCertificate
    self.clientKey = clientKey
    self.proxy = proxy
  }
}
