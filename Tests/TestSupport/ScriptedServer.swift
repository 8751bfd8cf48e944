import Foundation

/// A server on loopback that answers requests from a script, well or badly (Tests/Servers/scripted_server.py).
///
/// A step is used by the first request that it matches, or by `times` of them. After the last one comes `fallback`, or
/// else the last step again. Without any step each answer is 200 with an empty body.
public final class ScriptedServer {
  public struct Step: Encodable, Sendable {
    public enum Close: String, Encodable, Sendable {
      /// The head is read, not the body.
      case beforeReading = "before-reading"
      /// All is read, nothing answered.
      case afterReading = "after-reading"
      /// The answer's head is sent but for the empty line; unless it is reset, TLS is ended in order.
      case midHead = "mid-head"
      /// The answer's head is sent, without a length; TLS is not ended.
      case afterHead = "after-head"
      /// Half of the answer's body is sent.
      case midBody = "mid-body"
    }

    /// Which requests it is for: all when empty.
    public struct Match: Encodable, Sendable {
      public var table: String?
      /// Without a query.
      public var path: String?

      public init(table: String? = nil, path: String? = nil) { (self.table, self.path) = (table, path) }
    }

    public var status = 200
    public var headers: [String: String] = [:]
    /// `{rows}` in it becomes the number of rows that the request brought.
    public var body = ""
    /// Seconds before the answer.
    public var delay: Double = 0
    /// Bytes of the body a second.
    public var trickle: Int?
    public var close: Close?
    /// Whether such a close is a TCP reset.
    public var reset = false
    /// Whether there is no answer, until the client closes.
    public var hang = false
    public var match = Match()
    public var times = 1

    public init(_ status: Int = 200, _ body: String = "", headers: [String: String] = [:]) {
      (self.status, self.body, self.headers) = (status, body, headers)
    }

    /// The acknowledgement of all rows that the request brought.
    public static let acknowledge = Step(200, #"{"accepted":{rows},"duplicates":0}"#)
    public static func close(_ close: Close, reset: Bool = false) -> Step {
      Step().with {
        $0.close = close
        $0.reset = reset
        $0.body = #"{"accepted":{rows},"duplicates":0}"#
      }
    }
    public static let hang = Step().with { $0.hang = true }

    public func with(_ change: (inout Step) -> Void) -> Step {
      var step = self
      change(&step)
      return step
    }
  }

  public struct Settings: Encodable, Sendable {
    public var steps: [Step] = []
    public var fallback: Step?
    /// Of TLS: "1.0" to "1.3".
    public var minimumTLS = "1.2"
    public var maximumTLS = "1.3"
    /// The path of an authority's certificate: a client certificate of it is demanded.
    public var clientAuthority: String?
    /// 0: any free one.
    public var port = 0
    /// Whether ``Request/body`` is kept.
    public var recordsBodies = true
    fileprivate var certificate: String?
    fileprivate var key: String?
    fileprivate var events = ""

    enum CodingKeys: String, CodingKey {
      case steps, minimumTLS, maximumTLS, clientAuthority, port, recordsBodies, certificate, key, events
      case fallback = "default"
    }

    public init(_ steps: [Step] = []) { self.steps = steps }
  }

  public struct Request: Sendable {
    /// The number of the TCP connection it came on, from 1.
    public let connection: Int
    public let method: String
    public let path: String
    /// By lowercase name; repeated ones are joined with ", ".
    public let headers: [String: String]
    public let body: Data
  }

  public struct Handshake: Sendable {
    public let connection: Int
    /// Such as "TLSv1.3".
    public let version: String
    /// The common name in the client's certificate.
    public let client: String?
  }

  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  public let port: Int
  private let folder = TemporaryFolder()
  private let process: Program.Running

  /// Starts a server: with `identity` over TLS, without one over plain HTTP.
  public init(_ identity: TestAuthority.Identity?, _ settings: Settings) throws {
    var settings = settings
    settings.certificate = identity?.chain
    settings.key = identity?.key
    settings.events = folder.write("events", "")
    let encoded = try JSONEncoder().encode(settings)
    process = try Program.start(
      Program.python,
      [
        Program.root + "/Tests/Servers/scripted_server.py",
        folder.write("settings.json", String(decoding: encoded, as: UTF8.self)),
      ])
    guard process.waitForFirstLine(), let line = process.output.split(separator: "\n").first, let port = Int(line)
    else {
      process.kill()
      throw Failure(description: "the scripted server did not start: \(process.finish().errors)")
    }
    self.port = port
  }

  public convenience init(_ identity: TestAuthority.Identity?, _ steps: Step...) throws {
    try self.init(identity, Settings(steps))
  }

  deinit { stop() }

  /// Ends it. Its port refuses connections from now on.
  public func stop() {
    guard process.isRunning else { return }
    process.kill()
    _ = process.finish()
  }

  /// What it got so far, in the order in which it was read.
  public func requests() -> [Request] {
    events("request").map { event in
      let fields = event["headers"] as? [[String]] ?? []
      return Request(
        connection: event["connection"] as? Int ?? 0, method: event["method"] as? String ?? "",
        path: event["path"] as? String ?? "",
        headers: Dictionary(fields.map { ($0[0].lowercased(), $0[1]) }) { $0 + ", " + $1 },
        body: Data(base64Encoded: event["body"] as? String ?? "") ?? Data())
    }
  }

  /// How many TCP connections there were, whatever came of them.
  public var connections: Int { events("connection").count }

  /// The TLS handshakes that succeeded.
  public var handshakes: [Handshake] {
    events("handshake").map { event in
      Handshake(
        connection: event["connection"] as? Int ?? 0, version: event["tls"] as? String ?? "",
        client: event["client"] as? String)
    }
  }

  private func events(_ kind: String) -> [[String: Any]] {
    let text = (try? String(contentsOfFile: folder.path("events"), encoding: .utf8)) ?? ""
    return text.split(separator: "\n").compactMap { JSON.parse(String($0)) as? [String: Any] }
      .filter { $0["event"] as? String == kind }
  }
}
