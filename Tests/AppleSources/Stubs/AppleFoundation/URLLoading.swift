import Security

/// https://developer.apple.com/documentation/foundation/urlrequest
public struct URLRequest: Sendable {
  public enum CachePolicy: UInt, Sendable {
    case useProtocolCachePolicy = 0
    case reloadIgnoringLocalCacheData = 1
  }

  public var url: URL?
  public var httpMethod: String?
  public var httpBody: Data?
  public var httpShouldHandleCookies = true
  public private(set) var allHTTPHeaderFields: [String: String]?

  public init(url: URL) { self.url = url }

  /// https://developer.apple.com/documentation/foundation/urlrequest/addvalue(_:forhttpheaderfield:)
  public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {
    let before = allHTTPHeaderFields?[field].map { $0 + "," } ?? ""
    setValue(before + value, forHTTPHeaderField: field)
  }

  /// https://developer.apple.com/documentation/foundation/urlrequest/setvalue(_:forhttpheaderfield:)
  public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {
    allHTTPHeaderFields = allHTTPHeaderFields ?? [:]
    allHTTPHeaderFields?[field] = value
  }
}

/// https://developer.apple.com/documentation/foundation/urlresponse
open class URLResponse: NSObject, @unchecked Sendable {}

/// https://developer.apple.com/documentation/foundation/httpurlresponse
open class HTTPURLResponse: URLResponse, @unchecked Sendable {
  public let statusCode: Int
  public let allHeaderFields: [AnyHashable: Any]

  /// https://developer.apple.com/documentation/foundation/httpurlresponse/init(url:statuscode:httpversion:headerfields:)
  public init?(url: URL, statusCode: Int, httpVersion: String?, headerFields: [String: String]?) {
    self.statusCode = statusCode
    allHeaderFields = headerFields ?? [:]
  }
}

/// https://developer.apple.com/documentation/foundation/httpcookiestorage
open class HTTPCookieStorage: NSObject, @unchecked Sendable {}
extension HTTPCookie {
  /// https://developer.apple.com/documentation/foundation/httpcookie/acceptpolicy
  public enum AcceptPolicy: UInt, Sendable {
    case always = 0
    case never = 1
    case onlyFromMainDocumentDomain = 2
  }
}
/// https://developer.apple.com/documentation/foundation/httpcookie
open class HTTPCookie: NSObject, @unchecked Sendable {}
/// https://developer.apple.com/documentation/foundation/urlcache
open class URLCache: NSObject, @unchecked Sendable {}
/// https://developer.apple.com/documentation/foundation/urlcredentialstorage
open class URLCredentialStorage: NSObject, @unchecked Sendable {}

/// https://developer.apple.com/documentation/security/tls_protocol_version_t (iOS 13, macOS 10.15)
public enum tls_protocol_version_t: UInt16, Sendable {
  case TLSv12 = 0x0303
  case TLSv13 = 0x0304
}

/// https://developer.apple.com/documentation/foundation/urlsessionconfiguration
open class URLSessionConfiguration: NSObject, @unchecked Sendable {
  open class var ephemeral: URLSessionConfiguration { URLSessionConfiguration() }
  open var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t?
  open var timeoutIntervalForRequest: TimeInterval = 60
  open var timeoutIntervalForResource: TimeInterval = 604_800
  open var urlCache: URLCache? = URLCache()
  open var requestCachePolicy: URLRequest.CachePolicy = .useProtocolCachePolicy
  open var httpCookieStorage: HTTPCookieStorage? = HTTPCookieStorage()
  open var httpShouldSetCookies = true
  open var httpCookieAcceptPolicy: HTTPCookie.AcceptPolicy = .onlyFromMainDocumentDomain
  open var urlCredentialStorage: URLCredentialStorage? = URLCredentialStorage()
  open var httpMaximumConnectionsPerHost = 6
  open var connectionProxyDictionary: [AnyHashable: Any]?
}

/// https://developer.apple.com/documentation/foundation/urlsessiontask
open class URLSessionTask: NSObject, @unchecked Sendable {
  public let taskIdentifier: Int
  public let originalRequest: URLRequest?
  public internal(set) var response: URLResponse?
  public private(set) var isStubCancelled = false
  unowned let session: URLSession

  init(_ session: URLSession, _ identifier: Int, _ request: URLRequest) {
    (self.session, taskIdentifier, originalRequest) = (session, identifier, request)
  }

  /// https://developer.apple.com/documentation/foundation/urlsessiontask/resume()
  open func resume() {}

  /// https://developer.apple.com/documentation/foundation/urlsessiontask/cancel()
  open func cancel() { isStubCancelled = true }

  /// The head of an answer comes.
  public func stubRespond(_ status: Int, _ headers: [String: String] = [:]) {
    response = originalRequest?.url.flatMap {
      HTTPURLResponse(url: $0, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)
    }
  }

  /// An answer comes that is not of HTTP.
  public func stubRespondOtherwise() { response = URLResponse() }
}

/// https://developer.apple.com/documentation/foundation/urlsessiondatatask
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {
  private var isResumed = false

  open override func resume() {
    isResumed = true
    let session = session
    DispatchQueue.global().async { URLSession.stubServer(session, self) }
  }

  open override func cancel() {
    super.cancel()
    let session = session
    let tell: @Sendable () -> Void = {
      session.stubDelegate.urlSession(session, task: self, didCompleteWithError: URLError(.cancelled))
    }
    // The worst case for the caller: told before anybody waits for it.
    if isResumed { DispatchQueue.global().async(execute: tell) } else { tell() }
  }
}

/// https://developer.apple.com/documentation/foundation/urlsession
open class URLSession: NSObject, @unchecked Sendable {
  /// https://developer.apple.com/documentation/foundation/urlsession/authchallengedisposition
  public enum AuthChallengeDisposition: Int, Sendable {
    case useCredential = 0
    case performDefaultHandling = 1
    case cancelAuthenticationChallenge = 2
    case rejectProtectionSpace = 3
  }

  public let configuration: URLSessionConfiguration
  public let delegate: (any URLSessionDelegate)?
  private var tasks: [URLSessionDataTask] = []

  /// https://developer.apple.com/documentation/foundation/urlsession/init(configuration:delegate:delegatequeue:)
  public init(
    configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue queue: OperationQueue?
  ) {
    (self.configuration, self.delegate) = (configuration, delegate)
  }

  /// https://developer.apple.com/documentation/foundation/urlsession/datatask(with:)
  open func dataTask(with request: URLRequest) -> URLSessionDataTask {
    let task = URLSessionDataTask(self, tasks.count + 1, request)
    tasks.append(task)
    return task
  }

  /// https://developer.apple.com/documentation/foundation/urlsession/finishtasksandinvalidate()
  open func finishTasksAndInvalidate() {}

  /// Called, on a thread of its own, with each task that is resumed.
  public nonisolated(unsafe) static var stubServer: @Sendable (URLSession, URLSessionDataTask) -> Void = { _, _ in }

  public var stubDelegate: any URLSessionDataDelegate {
    guard let delegate = delegate as? any URLSessionDataDelegate else { fatalError("no delegate for data") }
    return delegate
  }
}

/// https://developer.apple.com/documentation/foundation/urlprotectionspace
open class URLProtectionSpace: NSObject, @unchecked Sendable {
  public let host: String
  public let authenticationMethod: String
  public let serverTrust: SecTrust?

  public init(stubHost: String, method: String, trust: SecTrust?) {
    (host, authenticationMethod, serverTrust) = (stubHost, method, trust)
  }
}

/// https://developer.apple.com/documentation/foundation/nsurlauthenticationmethodservertrust
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
/// https://developer.apple.com/documentation/foundation/nsurlauthenticationmethodhttpbasic
public let NSURLAuthenticationMethodHTTPBasic = "NSURLAuthenticationMethodHTTPBasic"

/// https://developer.apple.com/documentation/foundation/urlauthenticationchallenge
open class URLAuthenticationChallenge: NSObject, @unchecked Sendable {
  public let protectionSpace: URLProtectionSpace
  public init(stubSpace: URLProtectionSpace) { protectionSpace = stubSpace }
}

/// https://developer.apple.com/documentation/foundation/urlcredential
open class URLCredential: NSObject, @unchecked Sendable {
  public let stubTrust: SecTrust
  /// https://developer.apple.com/documentation/foundation/urlcredential/init(trust:)
  public init(trust: SecTrust) { stubTrust = trust }
}

// Objective-C's optional methods are requirements with defaults here: a method whose declaration is another one is not
// called, here as there.

/// https://developer.apple.com/documentation/foundation/urlsessiondelegate
public protocol URLSessionDelegate: NSObjectProtocol, Sendable {}

/// https://developer.apple.com/documentation/foundation/urlsessiontaskdelegate
public protocol URLSessionTaskDelegate: URLSessionDelegate {
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void)
  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
}

/// https://developer.apple.com/documentation/foundation/urlsessiondatadelegate
public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)
}

extension URLSessionTaskDelegate {
  public func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) { completionHandler(.performDefaultHandling, nil) }
  public func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) { completionHandler(request) }
  public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {}
}

extension URLSessionDataDelegate {
  public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {}
}
