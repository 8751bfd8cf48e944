import EncryptedSQLite
import Foundation
import NotificationStore
import NotificationSync

/// A sync in a process of its own that a test may kill.
enum Sync {
  /// Prints "sent N" after each batch and "grew KIB" at the end, or the error's code, and ends the process.
  static func run(_ path: String, _ key: EncryptionKey, _ arguments: [String]) throws -> Never {
    func value(_ name: String) -> String? {
      arguments.last { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
    }
    let store = try NotificationStore(.init(path: path, key: key, creating: false))
    var settings = SyncSettings(
      host: arguments[0], studyNumber: 7, studyKey: arguments[2], removeAfterSync: arguments.contains("remove"),
      tls: TLSPolicy(certificateAuthorities: arguments[1]))
    settings.batchSize = value("batch").flatMap { Int($0) } ?? settings.batchSize
    settings.leaseDuration = value("lease").flatMap { Double($0) } ?? settings.leaseDuration
    let transport = KillingTransport(
      inner: try SystemTransport(policy: settings.tls), killing: value("kill-after").flatMap { Int($0) } ?? 0)
    let log = SyncLog { level, text in if level == .info { say(text) } }
    let synchronizer = try Synchronizer(store, settings, transport: transport, log: log)
    let before = peakMemory()
    Task {
      do {
        let report = try await synchronizer.sync(force: true)
        if let error = report.error { throw error }
        say("grew \(peakMemory() - before)")
        try store.close()
        say("ok")
        exit(0)
      } catch let error as DatabaseError {
        say(error.code.rawValue)
        exit(1)
      }
    }
    dispatchMain()
  }

  /// Kills its process between an answer and what is made of it.
  private struct KillingTransport: HTTPTransport {
    let inner: SystemTransport
    /// At which answer, from 1; never at 0.
    let killing: Int
    private let answers = Locked(0)

    init(inner: SystemTransport, killing: Int) { (self.inner, self.killing) = (inner, killing) }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      let response = try await inner.send(request)
      let count = answers.withLock { count in
        count += 1
        return count
      }
      if count == killing { kill(getpid(), SIGKILL) }
      return response
    }
  }
}
