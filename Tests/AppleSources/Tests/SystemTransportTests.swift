import AppleFoundation
import EncryptedSQLite
import NotificationSync
import Security
import Testing

extension AppleSources {
  @Suite struct Transport {
    private typealias Server = @Sendable (URLSession, URLSessionDataTask, any URLSessionDataDelegate) -> Void

    /// Sends one request to a server that does what `body` says, and gives what comes of it.
    private func send(
      _ policy: TLSPolicy = TLSPolicy(), headers: [(name: String, value: String)] = [], _ server: @escaping Server
    ) async -> Result<HTTPResponse, any Error> {
      URLSession.stubServer = { server($0, $1, $0.stubDelegate) }
      do {
        return .success(
          try await SystemTransport(policy: policy).send(
            HTTPRequest(url: "https://study.example/insert/", headers: headers, body: [1, 2, 3])))
      } catch {
        return .failure(error)
      }
    }

    private func code(_ result: Result<HTTPResponse, any Error>) -> DatabaseError.Code? {
      if case .failure(let error) = result { (error as? DatabaseError)?.code } else { nil }
    }

    private static func challenge(_ method: String, _ trust: SecTrust?) -> URLAuthenticationChallenge {
      URLAuthenticationChallenge(
        stubSpace: URLProtectionSpace(stubHost: "study.example", method: method, trust: trust))
    }

    @Test("A request is a POST with the headers given, and its answer comes back whole") func answer() async throws {
      let seen = Locked<URLRequest?>(nil)
      let result = await send(headers: [("Content-Type", "application/json")]) { session, task, delegate in
        seen.replace(with: task.originalRequest)
        task.stubRespond(201, ["Retry-After": "7"])
        for byte in "ok".utf8 { delegate.urlSession(session, dataTask: task, didReceive: Data([byte])) }
        delegate.urlSession(session, task: task, didCompleteWithError: nil)
      }
      let response = try result.get()
      #expect(response.status == 201)
      #expect(response.headers == ["retry-after": "7"])
      #expect(response.body == Array("ok".utf8))
      #expect(!response.isCut)
      let request = try #require(seen.snapshot)
      #expect(request.httpMethod == "POST")
      #expect(request.httpBody == Data([1, 2, 3]))
      #expect(request.url?.absoluteString == "https://study.example/insert/")
      #expect(request.allHTTPHeaderFields == ["Content-Type": "application/json", "Accept-Encoding": "identity"])
      #expect(!request.httpShouldHandleCookies)
    }

    @Test("A redirect is not followed: it is the answer") func redirect() async throws {
      let result = await send { session, task, delegate in
        guard let url = URL(string: "https://elsewhere.example/"),
          let moved = HTTPURLResponse(url: url, statusCode: 307, httpVersion: nil, headerFields: nil)
        else { return }
        delegate.urlSession(
          session, task: task, willPerformHTTPRedirection: moved, newRequest: URLRequest(url: url)
        ) { request in
          task.stubRespond(request == nil ? 307 : 200)
          delegate.urlSession(session, task: task, didCompleteWithError: nil)
        }
      }
      #expect(try result.get().status == 307)
    }

    @Test("A body beyond the limit is cut, and the rest is not read") func cap() async throws {
      let cancelled = Locked(false)
      let result = await send { session, task, delegate in
        task.stubRespond(200)
        for _ in 0..<5 { delegate.urlSession(session, dataTask: task, didReceive: Data(repeating: 7, count: 16 << 10)) }
        cancelled.replace(with: task.isStubCancelled)
        delegate.urlSession(session, task: task, didCompleteWithError: nil)
      }
      let response = try result.get()
      #expect(response.body.count == HTTPResponse.longestBody)
      #expect(response.isCut)
      #expect(cancelled.snapshot)
    }

    @Test("A server that is not trusted is refused, and the error says that it was the certificate")
    func untrusted() async {
      let disposition = Locked<URLSession.AuthChallengeDisposition?>(nil)
      for trust in [SecTrust(stubChain: [], failure: errSecNotTrusted), nil] {
        let result = await send { session, task, delegate in
          delegate.urlSession(
            session, task: task, didReceive: Self.challenge(NSURLAuthenticationMethodServerTrust, trust)
          ) { answer, credential in
            disposition.replace(with: credential == nil ? answer : nil)
            // As the system tells it.
            delegate.urlSession(session, task: task, didCompleteWithError: URLError(.cancelled))
          }
        }
        #expect(code(result) == .untrustedServer)
        #expect(disposition.snapshot == .cancelAuthenticationChallenge)
      }
    }

    @Test("A server that is trusted is told so; passwords and certificates are given to nobody") func trusted() async {
      let answers = Locked<[URLSession.AuthChallengeDisposition]>([])
      let shown = Locked<SecTrust?>(nil)
      let trust = SecTrust(stubChain: [])
      let result = await send { session, task, delegate in
        for method in [NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodHTTPBasic] {
          delegate.urlSession(session, task: task, didReceive: Self.challenge(method, trust)) { answer, credential in
            answers.withLock { $0.append(answer) }
            if let credential { shown.replace(with: credential.stubTrust) }
          }
        }
        task.stubRespond(401)
        delegate.urlSession(session, task: task, didCompleteWithError: nil)
      }
      #expect((try? result.get().status) == 401)
      #expect(answers.snapshot == [.useCredential, .rejectProtectionSpace])
      #expect(shown.snapshot === trust)
    }

    @Test(
      "Each failure has its code",
      arguments: [
        (URLError.Code.timedOut, DatabaseError.Code.timedOut), (.cannotFindHost, .connectionFailed),
        (.cannotConnectToHost, .connectionFailed), (.secureConnectionFailed, .untrustedServer),
        (.serverCertificateUntrusted, .untrustedServer), (.clientCertificateRequired, .untrustedServer),
        (.badServerResponse, .invalidResponse), (.cancelled, .cancelled), (.networkConnectionLost, .connectionFailed),
      ])
    func failures(_ error: URLError.Code, _ expected: DatabaseError.Code) async {
      let result = await send { session, task, delegate in
        delegate.urlSession(session, task: task, didCompleteWithError: URLError(error))
      }
      #expect(code(result) == expected)
    }

    @Test("An answer that is not of HTTP is none") func notHTTP() async {
      let result = await send { session, task, delegate in
        task.stubRespondOtherwise()
        delegate.urlSession(session, task: task, didCompleteWithError: nil)
      }
      #expect(code(result) == .invalidResponse)
    }

    @Test("A request whose task is cancelled ends at once, before it was sent and after") func cancelling() async {
      let isSent = DispatchSemaphore(value: 0)
      URLSession.stubServer = { _, _ in isSent.signal() }
      let sending = Task { [self] in await send { _, _, _ in isSent.signal() } }
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          isSent.wait()
          continuation.resume()
        }
      }
      sending.cancel()
      #expect(code(await sending.value) == .cancelled)

      let early = Task { [self] in
        withUnsafeCurrentTask { $0?.cancel() }
        return await send { session, task, delegate in
          delegate.urlSession(session, task: task, didCompleteWithError: URLError(.timedOut))
        }
      }
      #expect(code(await early.value) == .cancelled)
    }

    @Test("The session has a TLS floor, keeps nothing, and goes through no proxy but the one configured")
    func session() async throws {
      func configuration(_ policy: TLSPolicy) async throws -> URLSessionConfiguration {
        let seen = Locked<URLSessionConfiguration?>(nil)
        _ = await send(policy) { session, task, delegate in
          seen.replace(with: session.configuration)
          delegate.urlSession(session, task: task, didCompleteWithError: URLError(.timedOut))
        }
        return try #require(seen.snapshot)
      }
      let plain = try await configuration(TLSPolicy())
      #expect(plain.tlsMinimumSupportedProtocolVersion == .TLSv12)
      #expect(plain.urlCache == nil && plain.httpCookieStorage == nil && plain.urlCredentialStorage == nil)
      #expect(!plain.httpShouldSetCookies && plain.httpCookieAcceptPolicy == .never)
      #expect(plain.connectionProxyDictionary?.isEmpty == true)
      let proxied = try await configuration(TLSPolicy(proxy: "http://[::1]:3128"))
      #expect(proxied.connectionProxyDictionary?["HTTPSProxy"] as? String == "::1")
      #expect(proxied.connectionProxyDictionary?["HTTPSPort"] as? Int == 3128)
      #expect(proxied.connectionProxyDictionary?["HTTPSEnable"] as? Int == 1)
    }

    @Test("A client certificate is refused, not left out") func clientCertificate() {
      let folder = TemporaryFolder()
      let policy = TLSPolicy(
        clientCertificate: folder.write("certificate.pem", ""), clientKey: folder.write("key.pem", ""))
      #expect(Keys.error { _ = try SystemTransport(policy: policy) } == .invalidSyncSettings)
    }
  }
}
