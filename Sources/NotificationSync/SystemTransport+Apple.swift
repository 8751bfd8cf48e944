#if canImport(Security)
  import EncryptedSQLite
  import Foundation
  import Security

  /// The transport over `URLSession`, which adds `User-Agent`, `Accept` and `Accept-Language` of its own.
  package final class SystemTransport: HTTPTransport {
    private let session: URLSession
    private let delegate: TransportDelegate

    /// - Throws: `invalidSyncSettings`, also for a client certificate, which this platform takes from no file.
    package init(policy: TLSPolicy, timeouts: TransportTimeouts = TransportTimeouts()) throws {
      try policy.check()
      guard policy.clientCertificate == nil else {
        throw DatabaseError(
          .invalidSyncSettings, "client certificates are not supported on Apple's systems: leave it out")
      }
      delegate = try TransportDelegate(policy)
      session = URLSession(
        configuration: Self.configuration(timeouts, proxy: try policy.proxyAddress()), delegate: delegate,
        delegateQueue: nil)
    }

    // The session keeps its delegate until then.
    deinit { session.finishTasksAndInvalidate() }

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      let target = try RequestTarget(request.url)
      try Self.check(request.headers)
      guard let url = URL(string: request.url) else {
        throw DatabaseError(.invalidSyncSettings, "the server's address cannot be read: check it")
      }
      var message = URLRequest(url: url)
      message.httpMethod = "POST"
      message.httpBody = Data(request.body)
      message.httpShouldHandleCookies = false
      for (name, value) in request.headers { message.addValue(value, forHTTPHeaderField: name) }
      // The body is taken as it comes.
      message.setValue("identity", forHTTPHeaderField: "Accept-Encoding")

      let task = session.dataTask(with: message)
      let isCancelled = Locked(false)
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          delegate.register(task, TransportDelegate.Transfer(origin: target.origin, continuation: continuation))
          // Cancelled before it was registered: its end was told to nobody.
          if isCancelled.snapshot { delegate.finish(task, .failure(Self.cancelled)) } else { task.resume() }
        }
      } onCancel: {
        isCancelled.replace(with: true)
        task.cancel()
      }
    }

    private static func configuration(_ timeouts: TransportTimeouts, proxy: HostAndPort?) -> URLSessionConfiguration {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.tlsMinimumSupportedProtocolVersion = .TLSv12
      configuration.timeoutIntervalForRequest = timeouts.stall
      // One for all requests of a session: that of a full batch.
      configuration.timeoutIntervalForResource = timeouts.request(of: SyncSettings.fullBatch)
      configuration.urlCache = nil
      configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
      configuration.httpCookieStorage = nil
      configuration.httpShouldSetCookies = false
      configuration.httpCookieAcceptPolicy = .never
      configuration.urlCredentialStorage = nil
      configuration.httpMaximumConnectionsPerHost = 1
      // Empty, not nil: nil would be what the system's settings say.
      configuration.connectionProxyDictionary = [:]
      if let proxy, let port = proxy.port {
        // kCFNetworkProxiesHTTPS…, whose constants iOS does not have.
        configuration.connectionProxyDictionary = [
          "HTTPSEnable": 1, "HTTPSProxy": proxy.host.trimmingCharacters(in: ["[", "]"]), "HTTPSPort": port,
        ]
      }
      return configuration
    }
  }
#endif
