@_exported import CoreFoundationTypes
import Foundation

/// https://developer.apple.com/documentation/security/errseccertificateexpired
public var errSecCertificateExpired: OSStatus { -67818 }
/// https://developer.apple.com/documentation/security/errsechostnamemismatch
public var errSecHostNameMismatch: OSStatus { -67602 }
/// https://developer.apple.com/documentation/security/errsecnottrusted
public var errSecNotTrusted: OSStatus { -67843 }
/// https://developer.apple.com/documentation/security/errseccreatechainfailed
public var errSecCreateChainFailed: OSStatus { -25318 }

/// https://developer.apple.com/documentation/security/ksecattrkeytype
public let kSecAttrKeyType: CFString = "type"
/// https://developer.apple.com/documentation/security/ksecattrkeysizeinbits
public let kSecAttrKeySizeInBits: CFString = "bsiz"
/// https://developer.apple.com/documentation/security/ksecattrkeytypersa
public let kSecAttrKeyTypeRSA: CFString = "42"
/// https://developer.apple.com/documentation/security/ksecattrkeytypeecsecprimerandom
public let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"

/// https://developer.apple.com/documentation/security/seckey
public final class SecKey {
  let type: CFString
  let bits: Int
  /// nil: its bytes are not handed out.
  let bytes: Data?
  public init(stubType: CFString, bits: Int, bytes: Data?) { (type, self.bits, self.bytes) = (stubType, bits, bytes) }
}

/// https://developer.apple.com/documentation/security/seccertificate
public final class SecCertificate {
  public let der: Data
  public let key: SecKey?
  public init(stubDER: Data, key: SecKey?) { (der, self.key) = (stubDER, key) }
}

/// https://developer.apple.com/documentation/security/secpolicy
public final class SecPolicy {
  public let isServer: Bool
  public let host: CFString?
  init(_ isServer: Bool, _ host: CFString?) { (self.isServer, self.host) = (isServer, host) }
}

/// https://developer.apple.com/documentation/security/sectrust
public final class SecTrust: @unchecked Sendable {
  public let chain: [SecCertificate]
  /// What its evaluation says; nil is trust.
  public let failure: OSStatus?
  /// What every setting of it answers.
  public let status: OSStatus
  public fileprivate(set) var policy: SecPolicy?
  public fileprivate(set) var anchors: [SecCertificate]?
  public fileprivate(set) var isAnchorsOnly = false

  public init(stubChain: [SecCertificate], failure: OSStatus? = nil, status: OSStatus = 0) {
    (chain, self.failure, self.status) = (stubChain, failure, status)
  }
}

/// https://developer.apple.com/documentation/security/secpolicycreatessl(_:_:)
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy { SecPolicy(server, hostname) }

/// https://developer.apple.com/documentation/security/sectrustsetpolicies(_:_:)
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus {
  trust.policy = policies as? SecPolicy
  return trust.status
}

/// https://developer.apple.com/documentation/security/sectrustsetanchorcertificates(_:_:)
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus {
  trust.anchors = anchorCertificates as? [SecCertificate]
  return trust.status
}

/// https://developer.apple.com/documentation/security/sectrustsetanchorcertificatesonly(_:_:)
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus {
  trust.isAnchorsOnly = anchorCertificatesOnly
  return trust.status
}

/// https://developer.apple.com/documentation/security/sectrustevaluatewitherror(_:_:) (iOS 12, macOS 10.14)
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool {
  guard let failure = trust.failure else { return true }
  error?.pointee = CFError(stubCode: failure)
  return false
}

/// https://developer.apple.com/documentation/security/sectrustgetcertificateatindex(_:_:) (deprecated from iOS 15 on)
public func SecTrustGetCertificateAtIndex(_ trust: SecTrust, _ ix: CFIndex) -> SecCertificate? {
  trust.chain.indices.contains(ix) ? trust.chain[ix] : nil
}

/// https://developer.apple.com/documentation/security/seccertificatecreatewithdata(_:_:)
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
  // A SEQUENCE, as every certificate is.
  data.first == 0x30 ? SecCertificate(stubDER: data, key: nil) : nil
}

/// https://developer.apple.com/documentation/security/seccertificatecopykey(_:) (iOS 12, macOS 10.14)
public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? { certificate.key }

/// https://developer.apple.com/documentation/security/seckeycopyexternalrepresentation(_:_:)
public func SecKeyCopyExternalRepresentation(
  _ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? { key.bytes }

/// https://developer.apple.com/documentation/security/seckeycopyattributes(_:)
///
/// `CFDictionary?` there; the class that it stands for, so that a cast of it has something to do.
public func SecKeyCopyAttributes(_ key: SecKey) -> NSDictionary? {
  NSDictionary(
    objects: [key.type, key.bits], forKeys: [kSecAttrKeyType as NSString, kSecAttrKeySizeInBits as NSString])
}
