#if canImport(CCurl)
  import CCurl
  import EncryptedSQLite

  /// A transfer that failed, in libcurl's terms.
  struct CurlFailure {
    let code: CURLcode
    /// libcurl's own text, which is looked into and never shown: it may hold the URL.
    let detail: String
    /// OpenSSL's verdict on the certificate chain (`X509_V_ERR_…`), 0 when it is sound or was not judged.
    let verification: Int
    /// Where the request went: `https://host:port`.
    let origin: String
    let proxy: String?

    var error: SyncError {
      switch code {
      case CURLE_PEER_FAILED_VERIFICATION:
        refusesCertificate ? wantsCertificate : DatabaseError(.untrustedServer, certificateMessage)
      case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
        DatabaseError(
          .untrustedServer,
          "the public key of \(origin) is none of those pinned: add its pin if the server has a new key; if not, "
            + "somebody is in between")
      case CURLE_SSL_CACERT_BADFILE:
        DatabaseError(
          .invalidSyncSettings,
          "the file of certificate authorities cannot be read: check that it is PEM, or install ca-certificates")
      case CURLE_SSL_CERTPROBLEM:
        DatabaseError(
          .invalidSyncSettings,
          "the client certificate cannot be used: check that both files are PEM, that the key is the certificate's and "
            + "that it has no passphrase")
      case CURLE_SSL_CLIENTCERT:
        wantsCertificate
      case CURLE_SSL_CONNECT_ERROR:
        handshakeError
      case CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_INVALIDCERTSTATUS, CURLE_USE_SSL_FAILED,
        CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_CRL_BADFILE:
        DatabaseError(.untrustedServer, "TLS with \(origin) failed\(number): check the server's TLS settings")
      case CURLE_OPERATION_TIMEDOUT:
        DatabaseError(.timedOut, "\(place) did not answer in time: try again later, or see whether the server is slow")
      case CURLE_COULDNT_RESOLVE_HOST:
        DatabaseError(.connectionFailed, "the host of \(origin) has no address: check its name and the network")
      case CURLE_COULDNT_RESOLVE_PROXY:
        DatabaseError(
          .connectionFailed, "the host of the proxy \(proxy ?? "") has no address: check its name and the network")
      case CURLE_COULDNT_CONNECT, CURLE_PROXY:
        DatabaseError(.connectionFailed, "cannot connect to \(place): check that it is up, and the network")
      case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING:
        DatabaseError(.invalidResponse, "\(origin) does not answer in HTTP\(number): check that the address is right")
      case CURLE_RECV_ERROR, CURLE_SEND_ERROR:
        // In TLS 1.3 a server judges the client's certificate when the client has finished already.
        refusesCertificate ? wantsCertificate : broken
      default:
        broken
      }
    }

    private var certificateMessage: String {
      // libcurl compares the names itself, when the chain is known to be sound.
      if has("host name", "common name") {
        return
          "the certificate of \(origin) is for another host name: check the address, or have it renewed with this name"
      }
      return switch Int32(verification) {
      case X509_V_ERR_CERT_HAS_EXPIRED:
        "the certificate of \(origin), or of its authority, has expired: renew it, or set this device's clock"
      case X509_V_ERR_CERT_NOT_YET_VALID:
        "the certificate of \(origin), or of its authority, is not valid yet: set this device's clock, or the server's"
      case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
        X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
        X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        "the certificate of \(origin) comes from no authority that is trusted here: name that authority's PEM file if "
          + "the server is yours, and have the server send its whole chain"
      default:
        "the certificate of \(origin) does not verify (\(String(cString: X509_verify_cert_error_string(verification)))): "
          + "have it renewed"
      }
    }

    private var handshakeError: SyncError {
      if refusesCertificate { return wantsCertificate }
      if has("unsupported protocol", "protocol version", "no protocols available") {
        return DatabaseError(.untrustedServer, "\(origin) speaks no TLS of 1.2 or newer: renew the server's TLS")
      }
      if has("wrong version number", "http request", "packet length too long", "unknown protocol", "record layer") {
        return DatabaseError(.untrustedServer, "\(origin) speaks no TLS: check that this is its https port")
      }
      if has("SSL_ERROR_SYSCALL", "Connection reset", "unexpected eof", "SSL_ERROR_ZERO_RETURN") { return broken }
      return DatabaseError(
        .untrustedServer,
        "\(origin) does not agree on a TLS connection\(number): check its versions, ciphers and keys, and whether it "
          + "asks for a client certificate")
    }

    private var wantsCertificate: SyncError {
      DatabaseError(
        .untrustedServer,
        "\(origin) does not accept this client's certificate, or asks for one: configure the one that it expects")
    }

    private var broken: SyncError {
      DatabaseError(.connectionFailed, "the connection to \(place) broke\(number): try again later")
    }

    /// Whether the server sent an alert about our certificate (RFC 8446, section 6.2), by OpenSSL's names for them.
    private var refusesCertificate: Bool {
      // libcurl's words for an alert that it takes for a verdict of ours.
      has("SSL certificate verification failed")
        || has("alert certificate", "alert bad certificate", "alert unsupported certificate", "alert unknown ca")
    }

    private var place: String { proxy.map { "\(origin) through \($0)" } ?? origin }
    private var number: String { " (libcurl's error \(code.rawValue))" }

    private func has(_ phrases: String...) -> Bool { phrases.contains { detail.contains($0) } }
  }
#endif
