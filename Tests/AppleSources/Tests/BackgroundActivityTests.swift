import AppleFoundation
import EncryptedSQLite
import NotificationSync
import Testing

@testable import com_awareframework_ios_sensor_notification

/// The system's part in an expiring activity, in the hands of a test.
private final class Activity: Sendable {
  private let block = Locked<(@Sendable (Bool) -> Void)?>(nil)
  private let begun = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)

  /// - Parameter isGranted: whether the system gives time.
  init(isGranted: Bool = true) {
    StubSystem.perform = { [self] reason, block in
      self.block.replace(with: block)
      DispatchQueue.global().async { [self] in
        begun.signal()
        block(!isGranted)
        ended.signal()
      }
    }
  }

  func waitUntilBegun() -> Bool { begun.wait(timeout: .now() + 60) == .success }
  func waitUntilEnded() -> Bool { ended.wait(timeout: .now() + 60) == .success }
  /// Whether it has come to its end already.
  var isEnded: Bool { ended.wait(timeout: .now()) == .success }
  /// The system says that its time is over, and goes on when that was dealt with.
  func expire() { block.snapshot?(true) }
}

extension AppleSources {
  @Suite struct Background {
    private typealias Outcome = Result<SyncReport, AwareNotificationError>

    private let folder = TemporaryFolder()
    private let sensor: NotificationSensor
    private let outcomes = Locked<[Outcome]>([])
    private let told = DispatchSemaphore(value: 0)

    init() {
      let config = NotificationSensor.Config()
      config.dbType = .sqlite
      config.dbEncryptionKey = Keys.rawText
      config.dbPath = folder.path("store.sqlite")
      config.dbHost = "https://study.example"
      config.callbackQueue = DispatchQueue(label: "test.callbacks")
      sensor = NotificationSensor(config, log: { _ in })
      sensor.handle(ReceivedNotification(identifier: "push-1", title: "Anna"))
    }

    private func startSync() {
      let (outcomes, told) = (outcomes, told)
      sensor.startSync(force: true) { outcome in
        outcomes.withLock { $0.append(outcome) }
        told.signal()
      }
    }

    private func outcome() -> Outcome? {
      _ = told.wait(timeout: .now() + 60)
      return outcomes.snapshot.first
    }

    private func code(_ outcome: Outcome?) -> AwareNotificationError.Code? {
      switch outcome {
      case .failure(let error): error.code
      case .success(let report): report.error?.code
      case nil: nil
      }
    }

    @Test("A sync holds an activity while it runs, and no longer") func held() throws {
      let activity = Activity()
      let asked = DispatchSemaphore(value: 0)
      let answer = Locked<(@Sendable () -> Void)?>(nil)
      URLSession.stubServer = { session, task in
        answer.replace(with: {
          task.stubRespond(200)
          session.stubDelegate.urlSession(session, task: task, didCompleteWithError: nil)
        })
        asked.signal()
      }
      startSync()
      #expect(activity.waitUntilBegun())
      asked.wait()
      #expect(!activity.isEnded)
      answer.snapshot?()
      #expect(try outcome()?.get().error == nil)
      #expect(activity.waitUntilEnded())
    }

    @Test("When its time is over the sync is cancelled, and has let go of the store when the system goes on")
    func expired() {
      let activity = Activity()
      let asked = DispatchSemaphore(value: 0)
      URLSession.stubServer = { _, _ in asked.signal() }
      startSync()
      #expect(activity.waitUntilBegun())
      asked.wait()
      activity.expire()
      #expect(activity.waitUntilEnded())
      #expect(code(outcome()) == .cancelled)
    }

    @Test("Where the system gives no time the sync is cancelled") func denied() {
      let activity = Activity(isGranted: false)
      URLSession.stubServer = { _, _ in }
      startSync()
      #expect(activity.waitUntilEnded())
      #expect(code(outcome()) == .cancelled)
    }
  }
}
