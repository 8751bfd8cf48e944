import Foundation
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  @Suite("Constants") struct Constants {
    private static let prefix = "com.awareframework.ios.sensor.notification"

    /// The constant's value, its suffix, and the name that goes with it.
    private static let actions: [(String, String, Notification.Name)] = [
      (NotificationSensor.ACTION_AWARE_NOTIFICATION, "", .actionAwareNotification),
      (NotificationSensor.ACTION_AWARE_NOTIFICATION_START, ".SENSOR_START", .actionAwareNotificationStart),
      (NotificationSensor.ACTION_AWARE_NOTIFICATION_STOP, ".SENSOR_STOP", .actionAwareNotificationStop),
      (NotificationSensor.ACTION_AWARE_NOTIFICATION_SYNC, ".SYNC", .actionAwareNotificationSync),
      (
        NotificationSensor.ACTION_AWARE_NOTIFICATION_SYNC_COMPLETION, ".SENSOR_SYNC_COMPLETION",
        .actionAwareNotificationSyncCompletion
      ),
      (NotificationSensor.ACTION_AWARE_NOTIFICATION_SET_LABEL, ".SET_LABEL", .actionAwareNotificationSetLabel),
      (NotificationSensor.ACTION_AWARE_NOTIFICATION_RECEIVED, ".RECEIVED", .actionAwareNotificationReceived),
      (
        NotificationSensor.ACTION_AWARE_NOTIFICATION_TOKEN_UPDATED, ".TOKEN_UPDATED",
        .actionAwareNotificationTokenUpdated
      ),
      (
        NotificationSensor.ACTION_AWARE_NOTIFICATION_SILENT_PUSH_RECEIVED, ".SILENT_PUSH_RECEIVED",
        .actionAwareNotificationSilentPushReceived
      ),
      (NotificationSensor.ACTION_AWARE_NOTIFICATION_COMMAND_SYNC, ".COMMAND_SYNC", .actionAwareNotificationCommandSync),
      (
        NotificationSensor.ACTION_AWARE_NOTIFICATION_COMMAND_RESTART, ".COMMAND_RESTART",
        .actionAwareNotificationCommandRestart
      ),
      (
        NotificationSensor.ACTION_AWARE_NOTIFICATION_COMMAND_CONFIG_UPDATE, ".COMMAND_CONFIG_UPDATE",
        .actionAwareNotificationCommandConfigUpdate
      ),
      (
        NotificationSensor.ACTION_AWARE_NOTIFICATION_COMMAND_CUSTOM, ".COMMAND_CUSTOM",
        .actionAwareNotificationCommandCustom
      ),
      (NotificationSensor.ACTION_AWARE_NOTIFICATION_ERROR, ".ERROR", .actionAwareNotificationError),
    ]

    @Test("Every action has its documented value, and a notification name of that value", arguments: actions.indices)
    func action(_ index: Int) {
      let (value, suffix, name) = Self.actions[index]
      #expect(value == Self.prefix + suffix)
      #expect(name.rawValue == value)
    }

    @Test("The keys of what broadcasts carry") func extras() {
      #expect(NotificationSensor.EXTRA_DATA == "data")
      #expect(NotificationSensor.EXTRA_LABEL == "label")
      #expect(NotificationSensor.EXTRA_STATUS == "status")
      #expect(NotificationSensor.EXTRA_ERROR == "error")
      #expect(NotificationSensor.EXTRA_TOKEN == "token")
      #expect(NotificationSensor.EXTRA_PAYLOAD == "payload")
      #expect(NotificationSensor.EXTRA_COMMAND == "command")
      #expect(NotificationSensor.EXTRA_CONFIG_URL == "configUrl")
    }

    @Test("The tag and the request to sync") func others() {
      #expect(NotificationSensor.TAG == "Aware::Notification")
      #expect(Notification.Name.Aware.dbSyncRequest.rawValue == "AwareDBSyncRequest")
    }

    @Test("The keys and words of commands") func commands() {
      #expect(NotificationCommand.payloadKey == "aware_command")
      #expect(NotificationCommand.configURLKey == "aware_config_url")
      #expect(NotificationCommand.commandSync == "sync")
      #expect(NotificationCommand.commandRestart == "restart")
      #expect(NotificationCommand.commandConfigUpdate == "config_update")
    }
  }
}
