import AppleFoundation
import EncryptedSQLite
import NotificationStore
import Testing
import com_awareframework_ios_sensor_notification

extension AppleSources {
  @Suite struct Groups {
    private let folder = TemporaryFolder()
    private let name = "group.test.\(UUID().uuidString)"

    @Test("A group that this program is not in is an error, and so is one whose folder cannot be used") func unknown() {
      StubSystem.groups = [:]
      #expect(Keys.error { _ = try AppGroup(name) } == .invalidArgument)
      // macOS names a folder for any group.
      StubSystem.groups = [name: URL(fileURLWithPath: folder.path("nowhere"))]
      #expect(Keys.error { _ = try AppGroup(name) } == .invalidArgument)
    }

    @Test("App and extension share a folder and settings") func shared() throws {
      StubSystem.groups = [name: URL(fileURLWithPath: folder.path)]
      defer { UserDefaults.standard.removePersistentDomain(forName: name) }
      let (app, other) = (try AppGroup(name), try AppGroup(name))
      #expect(app.folder == folder.path)
      try app.set("7", for: "label")
      #expect(other.setting("label") == "7")
      try app.set(nil, for: "label")
      #expect(other.setting("label") == nil)
    }

    @Test("A configuration with an unknown group says so, where nothing is stored too") func configuration() {
      StubSystem.groups = [:]
      let config = NotificationSensor.Config()
      config.appGroupIdentifier = name
      #expect(Keys.error { _ = try StoreSettings(config) } == .invalidConfiguration)
    }
  }
}
