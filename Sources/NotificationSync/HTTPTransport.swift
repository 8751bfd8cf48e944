/// Sends requests over verified TLS, and hands back what the server said.
///
/// Every implementation keeps to one policy: `https` only, TLS 1.2 or newer, chain and host name verified, no redirect
/// followed, no cookies, no cache, a proxy only where ``TLSPolicy`` names one, and nothing of it changed by the
/// environment. It fails closed.
package protocol HTTPTransport: Sendable {
  /// - Throws: ``SyncError`` of the codes for connections and TLS; `cancelled` when the task was cancelled.
  func send(_ request: HTTPRequest) async throws -> HTTPResponse
}

/// One `POST`.
package struct HTTPRequest: Sendable {
  /// An absolute `https` URL without query.
  package var url: String
  /// In the order in which they are sent; `Host` and `Content-Length` are the transport's.
  package var headers: [(name: String, value: String)]
  package var body: [UInt8]

  package init(url: String, headers: [(name: String, value: String)] = [], body: [UInt8]) {
    self.url = url
    self.headers = headers
    self.body = body
  }
}

/// What a server answered, whatever its status.
package struct HTTPResponse: Sendable {
  package var status: Int
  /// By their names in lower case; of several of one name, the last.
  package var headers: [String: String]
  /// Up to ``longestBody`` bytes.
  package var body: [UInt8]
  /// Whether the server sent more than that. The rest was not read.
  package var isCut: Bool
  /// Whether the server said where the body ends. If not, it ends with the connection, as it would when that breaks.
  package var isDelimited: Bool

  /// No server's acknowledgement is longer than this.
  package static let longestBody = 64 << 10

  package init(
    status: Int, headers: [String: String] = [:], body: [UInt8] = [], isCut: Bool = false, isDelimited: Bool = true
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.isCut = isCut
    self.isDelimited = isDelimited
  }
}
