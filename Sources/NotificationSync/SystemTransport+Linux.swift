#if canImport(CCurl)
  import CCurl
  import EncryptedSQLite
  import Foundation

  /// The transport over libcurl. One request at a time; its connection is kept for the next one.
  ///
  /// A kept connection that turns out to be closed, before anything of an answer came, is replaced and the request sent
  /// again (RFC 9110, section 9.2.2: the caller's `Idempotency-Key` makes that safe).
  ///
  /// - Note: `@unchecked Sendable`: `handle` and `multi` are used on `queue` only, but for `curl_multi_wakeup`, which any
  ///   thread may call.
  package final class SystemTransport: HTTPTransport, @unchecked Sendable {
    /// Of another class than the store's queues: on Linux those of one class may wait for a thread that serves this one,
    /// and the next batch is written while one is on its way.
    private let queue = DispatchQueue(label: "SystemTransport", qos: .userInitiated)
    private let handle: CurlHandle
    private let multi: UnsafeMutableRawPointer
    private let timeouts: TransportTimeouts
    private let proxy: String?

    /// - Throws: `invalidSyncSettings`; `keyExposed` when others can read the client's private key.
    package init(policy: TLSPolicy, timeouts: TransportTimeouts = TransportTimeouts()) throws {
      try policy.check()
      handle = try CurlHandle(policy, timeouts)
      self.timeouts = timeouts
      proxy = policy.proxy
      guard let multi = curl_multi_init() else {
        throw DatabaseError(.connectionFailed, "libcurl has no memory left: try again later")
      }
      self.multi = multi
    }

    deinit { _ = BrokenPipe.guarded { curl_multi_cleanup(multi) } }

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      let target = try RequestTarget(request.url)
      try Self.check(request.headers)
      let isCancelled = Locked(false)
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          queue.async {
            continuation.resume(
              with: Result { try self.perform(request, target, isCancelled: { isCancelled.snapshot }) })
          }
        }
      } onCancel: {
        isCancelled.replace(with: true)
        curl_multi_wakeup(multi)
      }
    }

    private func perform(
      _ request: HTTPRequest, _ target: RequestTarget, isCancelled: () -> Bool
    ) throws -> HTTPResponse {
      let reader = ResponseReader()
      let lines = Self.lines(request.headers)
      defer { curl_slist_free_all(lines) }
      let code = try withExtendedLifetime(reader) {
        let context = Unmanaged.passUnretained(reader).toOpaque()
        return try request.body.withUnsafeBytes { body in
          try handle.setLimit(timeouts.request(of: body.count))
          try handle.set(CURLOPT_URL, request.url)
          try handle.set(CURLOPT_POST, 1)
          try handle.set(CURLOPT_HTTPHEADER, pointer: lines)
          try handle.set(CURLOPT_HEADERDATA, pointer: context)
          try handle.set(CURLOPT_WRITEDATA, pointer: context)
          try handle.set(CURLOPT_POSTFIELDSIZE_LARGE, size: body.count)
          // Without bytes it would read them from the standard input.
          try handle.set(CURLOPT_POSTFIELDS, pointer: body.baseAddress ?? UnsafeRawPointer(handle.pointer))
          return try BrokenPipe.guarded { try transfer(isCancelled) }
        }
      }
      // libcurl takes a head that ends before its empty line; what it said after that is not known (RFC 9112, section 8).
      let failure = code == CURLE_OK && !reader.isHeadComplete ? CURLE_PARTIAL_FILE : code
      if failure == CURLE_OK || (failure == CURLE_WRITE_ERROR && reader.isCut) {
        let status = handle.number(CURLINFO_RESPONSE_CODE)
        return HTTPResponse(
          status: status, headers: reader.headers, body: reader.body, isCut: reader.isCut,
          isDelimited: status == 204 || reader.isDelimited)
      }
      if reader.isHeadTooLong {
        throw DatabaseError(
          .invalidResponse, "\(target.origin) sends more header lines than any server of ours: check the address")
      }
      throw CurlFailure(
        code: failure, detail: handle.detail, verification: handle.number(CURLINFO_SSL_VERIFYRESULT),
        origin: target.origin, proxy: proxy
      ).error
    }

    private func transfer(_ isCancelled: () -> Bool) throws -> CURLcode {
      handle.forgetDetail()
      guard curl_multi_add_handle(multi, handle.pointer) == CURLM_OK else { throw Self.unusable }
      // Ends what is still under way.
      defer { curl_multi_remove_handle(multi, handle.pointer) }
      var running: Int32 = 1
      while true {
        guard !isCancelled() else { throw Self.cancelled }
        guard curl_multi_perform(multi, &running) == CURLM_OK else { throw Self.unusable }
        guard running > 0 else { break }
        guard curl_multi_poll(multi, nil, 0, 1000, nil) == CURLM_OK else { throw Self.unusable }
      }
      var left: Int32 = 0
      while let message = curl_multi_info_read(multi, &left) {
        if message.pointee.msg == CURLMSG_DONE { return message.pointee.data.result }
      }
      throw Self.unusable
    }

    private static var unusable: DatabaseError {
      DatabaseError(.connectionFailed, "libcurl could not work on the upload: try again later")
    }

    /// The header lines as libcurl takes them: `Name: value`, `Name;` for an empty value, `Name:` to leave one out.
    private static func lines(_ headers: [(name: String, value: String)]) -> UnsafeMutablePointer<curl_slist>? {
      let given = Set(headers.map { $0.name.lowercased() })
      let unwanted = ["Expect", "Accept", "Content-Type"].filter { !given.contains($0.lowercased()) }
      let lines =
        headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" } + unwanted.map { $0 + ":" }
      return lines.reduce(nil) { curl_slist_append($0, $1) ?? $0 }
    }
  }
#endif
