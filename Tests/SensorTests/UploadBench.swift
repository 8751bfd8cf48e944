import EncryptedSQLite
import Foundation
import NotificationStore
import NotificationSync
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

/// A sensor that trusts the tests' authority, with all that it says of its syncs.
final class UploadBench {
  static func receiver(_ options: Receiver.Options = .init()) throws -> Receiver {
    try Receiver(TestAuthority.shared.identity, options)
  }

  static func server(_ steps: ScriptedServer.Step...) throws -> ScriptedServer {
    try ScriptedServer(TestAuthority.shared.identity, ScriptedServer.Settings(steps))
  }

  struct Completion: Equatable, Sendable {
    let isComplete: Bool
    let code: AwareNotificationError.Code?
  }

  let bench: Bench
  let upload = DbSyncConfig()
  let completions = Locked<[Completion]>([])
  let progress = Locked<[Double]>([])
  private let completed = DispatchSemaphore(value: 0)

  var sensor: NotificationSensor { bench.sensor }
  var config: NotificationSensor.Config { bench.config }

  /// - Parameter rows: silent pushes that are there already.
  init(host: String?, rows: Int = 3, _ change: (NotificationSensor.Config) -> Void = { _ in }) throws {
    let certificate = try TestAuthority.shared.authority.certificate
    bench = Bench { config in
      config.dbHost = host
      config.studyKey = "study-key"
      config.tls.certificateAuthorities = certificate
      change(config)
    }
    upload.completionHandler = { [completions, completed] isComplete, error in
      completions.withLock { $0.append(.init(isComplete: isComplete, code: (error as? AwareNotificationError)?.code)) }
      completed.signal()
    }
    upload.progressHandler = { [progress] done, _ in progress.withLock { $0.append(done) } }
    bench.sensor.syncConfig = upload
    for number in 0..<rows { #expect(bench.push(["n": number]) == .newData) }
  }

  convenience init(_ receiver: Receiver, rows: Int = 3, _ change: (NotificationSensor.Config) -> Void = { _ in }) throws
  {
    try self.init(host: receiver.host, rows: rows, change)
  }

  convenience init(
    _ server: ScriptedServer, rows: Int = 3, _ change: (NotificationSensor.Config) -> Void = { _ in }
  ) throws {
    try self.init(host: "localhost:\(server.port)", rows: rows, change)
  }

  /// Calls `work` and waits for the completion handler.
  ///
  /// - Returns: the last completion; nil when none came.
  @discardableResult
  func completion(of work: (NotificationSensor) -> Void = { $0.sync() }) -> Completion? {
    work(sensor)
    guard completed.wait(timeout: .now() + 60) == .success else { return nil }
    bench.settle()
    return completions.snapshot.last
  }

  /// Starts a sync at a server that hangs, and returns once the request is there.
  func hang(at server: ScriptedServer) -> Bool {
    sensor.sync(force: true)
    return eventually { !server.requests().isEmpty }
  }

  var payloads: [String] { get throws { try bench.stored { try $0.silentPushes.page(limit: 9999).map(\.payload) } } }
  var pending: Int? {
    get throws {
      let key = try EncryptionKey(config.dbEncryptionKey ?? Keys.rawText)
      return try StoreStatus(path: bench.path, key: key).tables.first { $0.name == "ios_silent_push" }?.pending
    }
  }
}

/// Whether `condition` comes true within half a minute.
func eventually(_ condition: () -> Bool) -> Bool {
  for _ in 0..<3000 {
    if condition() { return true }
    usleep(10_000)
  }
  return false
}

extension ScriptedServer.Request {
  /// The body of a batch of a JSON type.
  var envelope: [String: Any] { JSON.parse(String(decoding: body, as: UTF8.self)) as? [String: Any] ?? [:] }
  var rows: [[String: Any]] { envelope["data"] as? [[String: Any]] ?? [] }
}
