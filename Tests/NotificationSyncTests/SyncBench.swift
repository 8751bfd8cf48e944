import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import NotificationSync

typealias Step = ScriptedServer.Step

/// A store, the settings of its uploads, and what they said: for one test.
///
/// Every sync is looked at for what must hold always: the store verifies, and neither log, error nor ledger shows a key,
/// content or a path.
final class SyncBench {
  /// One authority for all tests: making one takes a dozen processes.
  static let endpoint: Endpoint = {
    atexit { try? FileManager.default.removeItem(atPath: (try? SyncBench.shared.get())?.folder.path ?? "") }
    guard let endpoint = try? shared.get() else { fatalError("openssl made no certificates") }
    return endpoint
  }()
  private static let shared = Result { try Endpoint() }

  static let studyKey = "study-s3cr3t"
  /// Stands in every text that is sent.
  static let content = "content-s3cr3t"
  static let signingKey = Array("signing-s3cr3t, with 32 bytes or more".utf8)
  private static let secrets = ["s3cr3t", "0123456789abcdef", "/api/", "/insert", ".db"]

  let folder = TemporaryFolder()
  var path: String { folder.path("study.db") }
  var store: NotificationStore
  var settings: SyncSettings
  var timeouts = TransportTimeouts()
  var clock = SyncClock()
  /// What the log got, of all levels.
  let log = Locked<[String]>([])
  /// Comes between a sync and its transport.
  var wrapper: ((any HTTPTransport) -> any HTTPTransport) = { $0 }
  /// Whether the whole file is verified after each sync.
  var verifies = true

  init(host: String = "localhost", _ change: (inout NotificationStore.Configuration) -> Void = { _ in }) throws {
    var configuration = NotificationStore.Configuration(
      path: folder.path("study.db"), key: try Keys.raw, deviceId: "device-1")
    change(&configuration)
    store = try NotificationStore(configuration)
    settings = SyncSettings(
      host: host, studyNumber: 7, studyKey: Self.studyKey,
      tls: TLSPolicy(certificateAuthorities: Self.endpoint.authority.certificate))
    settings.backoff = Backoff(first: 0.01, longest: 0.02)
    settings.attemptsPerSync = 2
    settings.leaseDuration = 5
  }

  deinit { try? store.close() }

  // MARK: Servers

  /// A server that answers from a script, which is the destination from now on.
  func script(
    _ steps: [ScriptedServer.Step], otherwise: ScriptedServer.Step? = nil, recordsBodies: Bool = true
  ) throws -> ScriptedServer {
    var script = ScriptedServer.Settings(steps)
    script.recordsBodies = recordsBodies
    script.fallback = otherwise
    let server = try ScriptedServer(Self.endpoint.leaf, script)
    settings.host = "localhost:\(server.port)"
    return server
  }

  func script(_ steps: ScriptedServer.Step...) throws -> ScriptedServer { try script(steps) }

  /// The reference receiver, which is the destination from now on.
  func receiver(_ change: (inout Receiver.Options) -> Void = { _ in }) throws -> Receiver {
    var options = Receiver.Options()
    options.study = (7, Self.studyKey)
    change(&options)
    let receiver = try Receiver(Self.endpoint.leaf, options)
    settings.host = receiver.host
    return receiver
  }

  // MARK: Syncing

  func synchronizer() throws -> Synchronizer {
    let transport = wrapper(try SystemTransport(policy: settings.tls, timeouts: timeouts))
    let log = log
    return try Synchronizer(
      store, settings, transport: transport, clock: clock,
      log: SyncLog { level, text in log.withLock { $0.append("\(level): \(text)") } })
  }

  @discardableResult
  func sync(force: Bool = false, progress: (@Sendable (Double) -> Void)? = nil) async throws -> SyncReport {
    let result = await Self.result(try synchronizer(), force: force, progress: progress)
    try check(result)
    return try result.get()
  }

  /// The error that a sync ended with, before anything was sent or in the midst of it.
  func error(force: Bool = false) async throws -> SyncError? {
    let result = await Self.result(try synchronizer(), force: force)
    try check(result)
    guard case .failure(let error) = result else { return nil }
    return error as? SyncError
  }

  static func result(
    _ synchronizer: Synchronizer, force: Bool = false, progress: (@Sendable (Double) -> Void)? = nil
  ) async -> Result<SyncReport, any Error> {
    do { return .success(try await synchronizer.sync(force: force, progress: progress)) } catch {
      return .failure(error)
    }
  }

  /// What must hold after each sync, however it ended.
  func check(_ result: Result<SyncReport, any Error>) throws {
    var texts = log.snapshot
    switch result {
    case .success(let report):
      texts += report.tables.compactMap(\.error).map { "\($0) \($0.message)" }
      // The report counts as the ledger does.
      let pending = try report.tables.map { try self.pending($0.name) }
      #expect(report.tables.map(\.pending) == pending)
    case .failure(let error): texts.append("\(error)")
    }
    texts += try UploadTable.all.flatMap { table in
      let (error, aside) = try store.database.read { connection in
        let ledger = UploadLedger(table.name, connection)
        return (try ledger.state().lastError, try ledger.quarantined())
      }
      return [error ?? ""] + aside.map(\.reason)
    }
    for text in texts {
      for secret in Self.secrets { #expect(!text.contains(secret), "\(text)") }
    }
    if verifies { try verify() }
  }

  func verify() throws {
    let verification = try StoreVerification(path: path, key: store.database.keyInForce)
    #expect(verification.checks.flatMap(\.faults) == [])
  }

  /// Waits until `condition` holds; after 15 seconds that is a failure, and not a hang.
  static func wait(until condition: () async throws -> Bool) async throws {
    for _ in 0..<3000 {
      if try await condition() { return }
      try await Task.sleep(nanoseconds: 5_000_000)
    }
    throw Failure(description: "what was waited for did not come")
  }

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  // MARK: Rows

  static let notifications = "ios_notification"
  static let tokens = "ios_notification_token"
  static let pushes = "ios_silent_push"

  /// Adds notifications, each with its number in its body.
  func add(_ count: Int, length: Int = 0, timestamp: Int64? = nil) throws {
    let first = try self.count(Self.notifications)
    try store.notifications.insert(
      (0..<count).map { number in
        var data = NotificationData(timestamp: timestamp ?? 1_764_460_861_000 + Int64(number))
        data.body = "\(first + number) \(Self.content)" + String(repeating: "x", count: length)
        return data
      })
  }

  func addOthers(tokens: Int = 1, pushes: Int = 1) throws {
    try store.tokens.insert(
      (0..<tokens).map { number in
        var token = NotificationTokenData(timestamp: 1)
        token.token = "\(number) \(Self.content)"
        return token
      })
    try store.silentPushes.insert(
      (0..<pushes).map { number in
        var push = SilentPushData(timestamp: 1)
        push.payload = #"{"text":"\#(Self.content)"}"#
        return push
      })
  }

  /// Runs SQL on the rows, as no call of the store would.
  func execute(_ sql: String) throws { try store.database.write { try $0.execute(sql) } }

  func count(_ table: String) throws -> Int {
    try store.database.read { Int(try $0.integer("SELECT count(*) FROM \(table)") ?? 0) }
  }

  func texts(_ sql: String) throws -> [String] {
    try store.database.read { connection in
      var texts: [String] = []
      try connection.forEachRow(sql) { texts.append($0.string(at: 0)) }
      return texts
    }
  }

  // MARK: The ledger

  func state(_ table: String = notifications) throws -> UploadState {
    try store.database.read { try UploadLedger(table, $0).state() }
  }

  func pending(_ table: String = notifications) throws -> Int {
    try store.database.read { try UploadLedger(table, $0).pending() }
  }

  func setAside(_ table: String = notifications) throws -> [QuarantinedRow] {
    try store.database.read { try UploadLedger(table, $0).quarantined() }
  }
}

extension ScriptedServer {
  /// Waits until it got so many requests.
  func waitForRequests(_ count: Int) async throws {
    try await SyncBench.wait { requests().count >= count }
  }

  /// Of each request its rows' bodies, as numbers.
  var bodies: [[Int]] {
    requests().map { request in
      let envelope = JSON.parse(String(decoding: request.body, as: UTF8.self)) as? [String: Any]
      let rows = envelope?["data"] as? [[String: Any]] ?? []
      return rows.compactMap { ($0["body"] as? String)?.split(separator: " ").first.flatMap { Int($0) } }
    }
  }

  var keys: [String] { requests().map { $0.headers["idempotency-key"] ?? "" } }
}
