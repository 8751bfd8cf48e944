#if canImport(CCurl)
  import CCurl
  import EncryptedSQLite
  import Foundation

  /// One of libcurl's easy handles, set to a policy.
  ///
  /// Not `Sendable`: its owner keeps it on one queue.
  final class CurlHandle {
    let pointer: UnsafeMutableRawPointer
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    /// - Throws: `invalidSyncSettings`, also when this libcurl cannot keep to the policy.
    init(_ policy: TLSPolicy, _ timeouts: TransportTimeouts) throws {
      guard Self.isReady, let pointer = curl_easy_init() else {
        errorText.deallocate()
        throw DatabaseError(
          .invalidSyncSettings, "libcurl cannot be used, or is not built with OpenSSL: install libcurl4 of OpenSSL")
      }
      self.pointer = pointer
      errorText.pointee = 0
      try set(policy)
      try set(timeouts)
      try setCallbacks()
    }

    deinit {
      curl_easy_cleanup(pointer)
      errorText.deallocate()
    }

    /// What went wrong in the last transfer, in libcurl's words. It may hold the URL: not for error texts.
    var detail: String { String(cString: errorText) }

    func forgetDetail() { errorText.pointee = 0 }

    func set(_ option: CURLoption, _ value: Int) throws {
      try check(ccurl_set_long(pointer, option, value), option)
    }

    func set(_ option: CURLoption, _ value: String) throws {
      try check(value.withCString { ccurl_set_pointer(pointer, option, $0) }, option)
    }

    /// libcurl keeps the pointer, not a copy.
    func set(_ option: CURLoption, pointer value: UnsafeRawPointer?) throws {
      try check(ccurl_set_pointer(pointer, option, value), option)
    }

    func set(_ option: CURLoption, size: Int) throws {
      try check(ccurl_set_offset(pointer, option, curl_off_t(size)), option)
    }

    func number(_ info: CURLINFO) -> Int {
      var value = 0
      return ccurl_get_long(pointer, info, &value) == CURLE_OK ? value : 0
    }

    private func set(_ policy: TLSPolicy) throws {
      try set(CURLOPT_PROTOCOLS_STR, "https")
      try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
      try set(CURLOPT_FOLLOWLOCATION, 0)
      // The path is signed as it stands.
      try set(CURLOPT_PATH_AS_IS, 1)
      try set(CURLOPT_NOSIGNAL, 1)
      // A name server that hangs does not hold up a cancelled or late request.
      try set(CURLOPT_QUICK_EXIT, 1)

      try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
      try set(CURLOPT_SSL_VERIFYPEER, 1)
      try set(CURLOPT_SSL_VERIFYHOST, 2)
      try check(ccurl_set_hardening(pointer), CURLOPT_SSL_CTX_FUNCTION)
      // Else it has the places that were fixed when libcurl was built: it asks no SSL_CERT_FILE.
      if let authorities = policy.certificateAuthorities {
        try set(CURLOPT_CAINFO, try FileSystem.absolute(authorities))
        try set(CURLOPT_CAPATH, pointer: nil)
      }
      if !policy.publicKeyPins.isEmpty {
        try set(CURLOPT_PINNEDPUBLICKEY, policy.publicKeyPins.joined(separator: ";"))
      }
      if let certificate = policy.clientCertificate, let key = policy.clientKey {
        try set(CURLOPT_SSLCERTTYPE, "PEM")
        try set(CURLOPT_SSLCERT, try FileSystem.absolute(certificate))
        try set(CURLOPT_SSLKEYTYPE, "PEM")
        try set(CURLOPT_SSLKEY, try FileSystem.absolute(key))
        // An encrypted key is refused; without this OpenSSL would ask for its passphrase on the terminal.
        try set(CURLOPT_KEYPASSWD, "")
      }

      // Empty, not unset: unset would be what the environment says.
      try set(CURLOPT_PROXY, policy.proxy ?? "")
      try set(CURLOPT_NOPROXY, "")
    }

    /// In seconds, for the next transfer as a whole.
    func setLimit(_ seconds: Double) throws { try set(CURLOPT_TIMEOUT_MS, Self.milliseconds(seconds)) }

    private func set(_ timeouts: TransportTimeouts) throws {
      try set(CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(timeouts.connect))
      try set(CURLOPT_LOW_SPEED_LIMIT, 16)
      try set(CURLOPT_LOW_SPEED_TIME, Int(max(1, timeouts.stall.rounded(.up))))
    }

    private func setCallbacks() throws {
      try set(CURLOPT_ERRORBUFFER, pointer: errorText)
      let takeHeaderLine: ccurl_receiver = { bytes, _, count, context in
        guard let context else { return 0 }
        let reader = Unmanaged<ResponseReader>.fromOpaque(context).takeUnretainedValue()
        return reader.takeHeaderLine(UnsafeRawBufferPointer(start: bytes, count: count)) ? count : 0
      }
      let takeBody: ccurl_receiver = { bytes, _, count, context in
        guard let context else { return 0 }
        let reader = Unmanaged<ResponseReader>.fromOpaque(context).takeUnretainedValue()
        return reader.takeBody(UnsafeRawBufferPointer(start: bytes, count: count)) ? count : 0
      }
      try check(ccurl_set_receiver(pointer, CURLOPT_HEADERFUNCTION, takeHeaderLine), CURLOPT_HEADERFUNCTION)
      try check(ccurl_set_receiver(pointer, CURLOPT_WRITEFUNCTION, takeBody), CURLOPT_WRITEFUNCTION)
    }

    private func check(_ code: CURLcode, _ option: CURLoption) throws {
      guard code == CURLE_OK else {
        throw DatabaseError(
          .invalidSyncSettings,
          "this libcurl refuses its option \(option.rawValue) (error \(code.rawValue)): install 7.87 or newer")
      }
    }

    private static func milliseconds(_ seconds: Double) -> Int { Int(max(1, seconds * 1000)) }

    /// Done once, before the first use of libcurl here.
    private static let isReady: Bool = {
      // Before libcurl has OpenSSL read the file that OPENSSL_CONF names.
      PlatformCrypto.prepare()
      // libcurl opens the file that SSLKEYLOGFILE names as it initialises, and has no option against that. The environment
      // is the process's own, so the file may be made; `ccurl_harden` keeps these connections out of it.
      // Where a libcurl has several, CURL_SSL_BACKEND would choose.
      _ = curl_global_sslset(CURLSSLBACKEND_OPENSSL, nil, nil)
      guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, let version = curl_version_info(CURLVERSION_FIRST),
        let library = version.pointee.ssl_version
      else { return false }
      return String(cString: library).hasPrefix("OpenSSL/")
    }()
  }
#endif
