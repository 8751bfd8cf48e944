import Foundation
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  @Suite("Silent push commands") struct Commands {
    private let url = URL(string: "https://study.example.org/17.json")!

    @Test("Payloads and the commands they are") func parsing() {
      func command(_ userInfo: [AnyHashable: Any]) -> NotificationCommand? { NotificationCommand(userInfo: userInfo) }
      #expect(command(["aware_command": "sync"]) == .sync)
      #expect(command(["aware_command": "restart"]) == .restart)
      #expect(
        command(["aware_command": "config_update", "aware_config_url": url.absoluteString]) == .configUpdate(url: url))
      #expect(command(["aware_command": "vibrate"]) == .custom("vibrate"))
      #expect(command(["aware_command": ""]) == .custom(""))
      #expect(command(["aware_command": "Sync"]) == .custom("Sync"))
    }

    @Test("Without a text under aware_command there is no command") func none() {
      #expect(NotificationCommand(userInfo: [:]) == nil)
      #expect(NotificationCommand(userInfo: ["aware_command": 42]) == nil)
      #expect(NotificationCommand(userInfo: ["aware_command": NSNull()]) == nil)
      #expect(NotificationCommand(userInfo: ["aware_command": ["sync"]]) == nil)
    }

    @Test("config_update without an absolute URL is a custom command", arguments: ["", "config/17.json", "//x", "a b"])
    func relative(_ text: String) {
      let command = NotificationCommand(userInfo: ["aware_command": "config_update", "aware_config_url": text])
      #expect(command == .custom("config_update"))
      #expect(NotificationCommand(userInfo: ["aware_command": "config_update"]) == .custom("config_update"))
      #expect(
        NotificationCommand(userInfo: ["aware_command": "config_update", "aware_config_url": 3])
          == .custom("config_update"))
    }

    @Test("The raw value is the payload's word") func rawValues() {
      #expect(NotificationCommand.sync.rawValue == "sync")
      #expect(NotificationCommand.restart.rawValue == "restart")
      #expect(NotificationCommand.configUpdate(url: url).rawValue == "config_update")
      #expect(NotificationCommand.custom("vibrate").rawValue == "vibrate")
    }

    @Test("sync triggers an immediate sync, restart and config_update leave it to the app, others pass through")
    func dispatched() {
      let bench = Bench()
      for word in ["sync", "restart", "vibrate"] { #expect(bench.push(["aware_command": word]) == .newData) }
      #expect(bench.push(["aware_command": "config_update", "aware_config_url": url.absoluteString]) == .newData)
      #expect(bench.observer.commands.snapshot == [.sync, .restart, .custom("vibrate"), .configUpdate(url: url)])
      #expect(
        bench.names == [
          ".SILENT_PUSH_RECEIVED", ".COMMAND_SYNC", ".SYNC", ".SENSOR_SYNC_COMPLETION", ".SILENT_PUSH_RECEIVED",
          ".COMMAND_RESTART", ".SILENT_PUSH_RECEIVED", ".COMMAND_CUSTOM", ".SILENT_PUSH_RECEIVED",
          ".COMMAND_CONFIG_UPDATE",
        ])
    }

    @Test("A push is stored, then told, then its command is carried out") func order() throws {
      let bench = Bench()
      #expect(bench.push(["aware_command": "sync"]) == .newData)
      #expect(bench.observer.calls.snapshot == ["silent", "command"])
      #expect(bench.observer.silentPushes.snapshot[0].id == 1)
      #expect(try bench.stored { try $0.silentPushes.count() } == 1)
    }

    @Test("A push without a command is stored and told, and that is all") func noCommand() {
      let bench = Bench()
      #expect(bench.push(["aws": 1]) == .newData)
      #expect(bench.observer.calls.snapshot == ["silent"])
      #expect(bench.names == [".SILENT_PUSH_RECEIVED"])
    }
  }
}
