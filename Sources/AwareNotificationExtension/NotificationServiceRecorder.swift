import EncryptedSQLite
import Foundation
import NotificationStore
import NotificationSync
import com_awareframework_ios_sensor_notification

/// Records pushes in a service extension: in the store that it shares with its app, or sealed beside that store while it is
/// shut; tells the study's server; and hands the content on exactly once, in time, whatever fails.
///
/// The configuration is the app's: give both the same. The extension makes no store and no key, and changes neither schema
/// nor key.
///
/// ```swift
/// let recorder = NotificationServiceRecorder(config)
/// recorder.didReceive(notification, withContentHandler: contentHandler)
/// ```
public final class NotificationServiceRecorder: Sendable {
  /// Changes or enriches a content before it is shown. It is given the settings that the app shares, if there is an app
  /// group. What it throws leaves the content as it came.
  public typealias Transform = @Sendable (NotificationContent, SharedSettings?) async throws -> NotificationContent

  private let config: SharedConfig
  private let budget: TimeInterval
  /// How long a receipt may keep a notification from the screen, in seconds; then it waits for the app's next sync.
  private let receiptLimit: TimeInterval
  private let transform: Transform?
  private let onError: @Sendable (AwareNotificationError) -> Void
  private let deliveries = Locked<[Delivery]>([])

  /// - Parameters:
  ///   - budget: how long a notification may take, in seconds. The system gives 30.
  ///   - onError: is told what went wrong, on any thread.
  public convenience init(
    _ config: NotificationSensor.Config, budget: TimeInterval = 25, transform: Transform? = nil,
    onError: @escaping @Sendable (AwareNotificationError) -> Void = { _ in }
  ) {
    self.init(config, budget: budget, receiptLimit: 5, transform: transform, onError: onError)
  }

  package init(
    _ config: NotificationSensor.Config, budget: TimeInterval, receiptLimit: TimeInterval, transform: Transform?,
    onError: @escaping @Sendable (AwareNotificationError) -> Void
  ) {
    self.config = SharedConfig(config)
    self.budget = budget
    self.receiptLimit = receiptLimit
    self.transform = transform
    self.onError = onError
  }

  /// Records the push, sends its receipt, and hands its content on.
  ///
  /// - Parameter contentHandler: is called exactly once, on any thread, within the budget.
  public func didReceive(
    _ notification: DeliveredNotification,
    withContentHandler contentHandler: @escaping @Sendable (NotificationContent) -> Void
  ) {
    let delivery = Delivery(notification.content, contentHandler)
    deliveries.withLock { deliveries in
      deliveries.removeAll { $0.isFinished }
      deliveries.append(delivery)
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + budget) { delivery.expire() }
    delivery.begin(
      Task {
        async let recorded: Void = record(notification)
        if let transform {
          do {
            delivery.offer(try await transform(notification.content, try? settings()?.sharedSettings))
          } catch {
            onError(
              AwareNotificationError(
                .transformFailed, "the notification is shown as it came, for its transform failed: \(type(of: error))"))
          }
        }
        await recorded
        delivery.finish()
      })
  }

  /// The system's time is up: the contents that are still here are handed on now.
  public func serviceExtensionTimeWillExpire() {
    for delivery in deliveries.withLock({ $0 }) { delivery.expire() }
  }

  // MARK: Recording

  private func settings() throws -> StoreSettings? { try config.settings() }

  private func record(_ notification: DeliveredNotification) async {
    do {
      guard let settings = try settings() else { return }
      let recording = Recording(settings, config, notification, onError)
      guard let receipt = try await recording.store() else { return }
      try await recording.send(receipt, within: receiptLimit)
    } catch {
      onError(AwareNotificationError(describing: error))
    }
  }
}

extension DatabaseError.Code {
  /// The app's transform of a notification failed. The notification was recorded, and shown as it came.
  public static let transformFailed = Self(rawValue: "transformFailed")
}
