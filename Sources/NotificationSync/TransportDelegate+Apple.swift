#if canImport(Security)
  import EncryptedSQLite
  import Foundation
  import Security

  /// Takes what comes for each request, and judges the servers.
  final class TransportDelegate: NSObject, URLSessionDataDelegate, Sendable {
    struct Transfer {
      let origin: String
      let continuation: CheckedContinuation<HTTPResponse, any Error>
      let reader = ResponseReader()
      /// Why the server was not trusted: the session says only that the request was cancelled.
      var verdict: SyncError?

      init(origin: String, continuation: CheckedContinuation<HTTPResponse, any Error>) {
        (self.origin, self.continuation) = (origin, continuation)
      }
    }

    private let transfers = Locked<[Int: Transfer]>([:])
    private let trust: ServerTrust

    init(_ policy: TLSPolicy) throws {
      trust = try ServerTrust(policy)
    }

    func register(_ task: URLSessionTask, _ transfer: Transfer) {
      transfers.withLock { $0[task.taskIdentifier] = transfer }
    }

    /// Answers whoever waits; the first answer counts.
    func finish(_ task: URLSessionTask, _ result: Result<HTTPResponse, any Error>) {
      transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.continuation.resume(with: result)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      let space = challenge.protectionSpace
      guard space.authenticationMethod == NSURLAuthenticationMethodServerTrust else {
        // No passwords and no certificates: a 401 comes back as the answer that it is.
        completionHandler(.rejectProtectionSpace, nil)
        return
      }
      let origin = transfers.withLock { $0[task.taskIdentifier]?.origin } ?? "the server"
      do {
        guard let serverTrust = space.serverTrust else {
          throw DatabaseError(.untrustedServer, "\(origin) shows no certificate: check that this is its https port")
        }
        try trust.judge(serverTrust, host: space.host, origin: origin)
        completionHandler(.useCredential, URLCredential(trust: serverTrust))
      } catch {
        transfers.withLock { $0[task.taskIdentifier]?.verdict = error as? SyncError }
        completionHandler(.cancelAuthenticationChallenge, nil)
      }
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      // The redirect itself is the answer.
      completionHandler(nil)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      let mayGoOn = transfers.withLock { transfers in
        transfers[dataTask.taskIdentifier].map { transfer in
          data.withUnsafeBytes { transfer.reader.takeBody($0) }
        }
      }
      guard mayGoOn == false else { return }
      finish(dataTask, response(of: dataTask))
      dataTask.cancel()
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      guard let transfer = transfers.withLock({ $0[task.taskIdentifier] }) else { return }
      if let verdict = transfer.verdict {
        finish(task, .failure(verdict))
      } else if let error {
        finish(task, .failure(Self.syncError(error, transfer.origin)))
      } else {
        finish(task, response(of: task))
      }
    }

    private func response(of task: URLSessionTask) -> Result<HTTPResponse, any Error> {
      guard let reader = transfers.withLock({ $0[task.taskIdentifier]?.reader }),
        let head = task.response as? HTTPURLResponse
      else {
        return .failure(DatabaseError(.invalidResponse, "the server does not answer in HTTP: check the address"))
      }
      var headers: [String: String] = [:]
      for case (let name as String, let value as String) in head.allHeaderFields { headers[name.lowercased()] = value }
      return .success(
        HTTPResponse(status: head.statusCode, headers: headers, body: reader.body, isCut: reader.isCut))
    }

    /// The system's own text holds the URL, and is not shown.
    private static func syncError(_ error: any Error, _ origin: String) -> SyncError {
      guard let code = (error as? URLError)?.code else {
        return DatabaseError(.connectionFailed, "the connection to \(origin) broke: try again later")
      }
      switch code {
      case .cancelled:
        return SystemTransport.cancelled
      case .timedOut:
        return DatabaseError(
          .timedOut, "\(origin) did not answer in time: try again later, or see whether the server is slow")
      case .cannotFindHost, .dnsLookupFailed:
        return DatabaseError(
          .connectionFailed, "the host of \(origin) has no address: check its name and the network")
      case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
        .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
        .clientCertificateRequired, .appTransportSecurityRequiresSecureConnection:
        return DatabaseError(
          .untrustedServer,
          "\(origin) does not agree on a TLS connection (URL error \(code.rawValue)): check that this is its https port, "
            + "its TLS versions, its certificate, and whether it asks for a client certificate")
      case .badServerResponse, .cannotParseResponse:
        return DatabaseError(
          .invalidResponse, "\(origin) does not answer in HTTP: check that the address is right")
      default:
        return DatabaseError(
          .connectionFailed,
          "cannot connect to \(origin) (URL error \(code.rawValue)): check that it is up, and the network")
      }
    }
  }
#endif
