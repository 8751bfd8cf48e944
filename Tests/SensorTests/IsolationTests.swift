import EncryptedSQLite
import Foundation
import TestSupport
import Testing
import com_awareframework_ios_sensor_notification

/// What an app in Swift 6's language mode does from its main actor: that it compiles is half of the test.
@MainActor private final class App {
  let sensor: NotificationSensor
  let config: NotificationSensor.Config
  let uploads = DbSyncConfig()

  init(path: String) {
    config = NotificationSensor.Config().apply { config in
      config.dbType = .sqlite
      config.dbEncryptionKey = Keys.rawText
      config.dbPath = path
      config.requestPermission = false
    }
    sensor = NotificationSensor(config)
    sensor.syncConfig = uploads
  }

  func enterBackground() async {
    let sensor = sensor
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        sensor.suspend()
        continuation.resume()
      }
    }
  }

  func report() async throws -> SyncReport { try await sensor.syncReport() }

  func configureElsewhere() async {
    let config = config
    let uploads = uploads
    await Task.detached {
      config.label = "elsewhere"
      config.set(config: ["debug": true])
      uploads.batchSize = 7
    }.value
  }
}

extension SensorTests {
  @Suite("An app in Swift 6") struct Isolation {
    @Test(
      "suspends its sensor off the main actor, awaits its report on it, and passes its settings on",
      .timeLimit(.minutes(1)))
    @MainActor func calls() async throws {
      let folder = TemporaryFolder()
      let app = App(path: folder.path("store.sqlite"))
      app.sensor.start()
      await app.enterBackground()
      app.sensor.resume()
      let error = await #expect(throws: DatabaseError.self) { try await app.report() }
      #expect(error?.code == .noHost)
      await app.configureElsewhere()
      #expect(app.config.label == "elsewhere" && app.config.debug && app.uploads.batchSize == 7)
      app.sensor.stop()
      await app.enterBackground()
    }
  }
}
