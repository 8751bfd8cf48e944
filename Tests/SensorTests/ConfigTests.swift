import Foundation
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  @Suite("Configuration") struct Configuration {
    @Test("The defaults of the README's table, by type") func defaults() {
      let config = NotificationSensor.Config()
      let observer: NotificationObserver? = config.sensorObserver
      let (label, deviceId, path): (String, String, String) = (config.label, config.deviceId, config.dbPath)
      let (key, host): (String?, String?) = (config.dbEncryptionKey, config.dbHost)
      let type: DatabaseType = config.dbType
      #expect(observer == nil)
      #expect(config.requestPermission == true)
      #expect(config.enabled == false)
      #expect(config.debug == false)
      #expect(label == "" && deviceId == "")
      #expect(key == nil)
      #expect(type == Engine.DatabaseType.NONE && type == DatabaseType.none)
      #expect(path == "aware_notification")
      #expect(host == nil)
    }

    @Test("The defaults beyond the README's table") func otherDefaults() {
      let config = NotificationSensor.Config()
      #expect(config.serverType == .aware_micro)
      #expect(config.studyNumber == 1)
      #expect(config.studyKey == "")
      #expect(config.dbTableName == nil)
      #expect(config.plaintextStorePolicy == .adopt)
      #expect(config.callbackQueue.label == DispatchQueue.main.label)
      #expect(config.synchronous == .normal)
      #expect(config.maximumAge == nil)
      #expect(SensorConfig().dbPath == "aware")
    }

    @Test("Both spellings of the database type compile") func spellings() {
      let config = NotificationSensor.Config()
      config.dbType = Engine.DatabaseType.sqlite
      config.dbType = DatabaseType.sqlite
      config.dbType = .sqlite
      #expect(config.dbType == .sqlite)
      config.dbType = Engine.DatabaseType.NONE
      config.dbType = DatabaseType.none
      #expect(config.dbType == .NONE)
    }

    @Test("A dictionary gives every key") func dictionary() {
      let config = NotificationSensor.Config([
        "enabled": true, "debug": true, "label": "pilot", "deviceId": "device", "dbEncryptionKey": "words", "dbType": 1,
        "dbPath": "other", "dbHost": "host.example", "dbTableName": "table", "serverType": 1, "studyNumber": 7,
        "studyKey": "secret", "requestPermission": false,
      ])
      #expect(config.enabled && config.debug && !config.requestPermission)
      #expect(config.label == "pilot" && config.deviceId == "device")
      #expect(config.dbEncryptionKey == "words" && config.dbType == .sqlite && config.dbPath == "other")
      #expect(config.dbHost == "host.example" && config.dbTableName == "table")
      #expect(config.serverType == .aware && config.studyNumber == 7 && config.studyKey == "secret")
    }

    @Test("Types are read from numbers and from values", arguments: [0, 1, 2, 3, 4]) func types(_ number: Int) {
      let servers: [ServerType] = [.none, .aware, .aware_micro, .aware_micro, .aware_light]
      #expect(SensorConfig(["serverType": number]).serverType == servers[number])
      #expect(SensorConfig(["serverType": servers[number]]).serverType == servers[number])
      #expect(SensorConfig(["dbType": number]).dbType == (number == 1 ? .sqlite : .none))
      #expect(SensorConfig(["dbType": DatabaseType.sqlite]).dbType == .sqlite)
    }

    @Test("The other spelling of the study's keys") func studyKeys() {
      let config = SensorConfig(["study_number": 9, "study_key": "secret"])
      #expect(config.studyNumber == 9 && config.studyKey == "secret")
    }

    @Test("What the dictionary lacks, or has of another type, stays, the encryption key included") func missing() {
      let config = NotificationSensor.Config()
      config.dbEncryptionKey = "words"
      config.label = "pilot"
      config.dbType = .sqlite
      config.serverType = .aware
      config.set(config: [
        "deviceId": "device", "label": 4, "dbType": 9, "serverType": 77, "debug": "yes", "studyNumber": 3.7,
      ])
      #expect(config.dbEncryptionKey == "words" && config.label == "pilot" && config.deviceId == "device")
      #expect(config.dbType == .sqlite && config.serverType == .aware && !config.debug && config.studyNumber == 1)
    }

    @Test("apply changes the object and returns it") func apply() {
      let config = NotificationSensor.Config()
      let same = config.apply { config in config.label = "pilot" }
      #expect(same === config && config.label == "pilot")
      let sync = DbSyncConfig()
      #expect(sync.apply { config in config.batchSize = 5 } === sync && sync.batchSize == 5)
    }

    @Test("The defaults of the settings of uploads") func uploadDefaults() {
      let config = DbSyncConfig()
      #expect(!config.removeAfterSync && config.batchSize == 1000)
      #expect(!config.markAsSynced && !config.skipSyncedData && !config.keepLastData && !config.compactDataFormat)
      #expect(config.deviceId == nil && config.dispatchQueue == nil)
      #expect(config.completionHandler == nil && config.progressHandler == nil)
      #expect(!config.debug && config.debugLevel == .info && !config.backgroundSession)
      #expect(config.serverType == .aware_micro && config.studyNumber == 1 && config.studyKey == "")
    }

    @Test("A sensor has settings of uploads from the start") func uploadsAreThere() {
      let sensor = NotificationSensor()
      sensor.syncConfig?.batchSize = 7
      #expect(sensor.syncConfig?.batchSize == 7)
    }

    @Test("Levels are read from numbers, digits and names; a mode of compression too") func levels() {
      #expect(DbSyncConfig(["debugLevel": 4]).debugLevel == .verbose)
      #expect(DbSyncConfig(["debugLevel": "1"]).debugLevel == .error)
      #expect(DbSyncConfig(["debugLevel": "Warning"]).debugLevel == .warning)
      #expect(DbSyncConfig(["debugLevel": 9]).debugLevel == .info)
      #expect(DbSyncConfig(["compressionMode": "compact"]).compactDataFormat)
    }

    @Test("A dictionary gives the settings of uploads") func uploadDictionary() {
      let queue = DispatchQueue(label: "queue")
      let completed: DbSyncCompletionHandler = { _, _ in }
      let progressed: DbSyncProgressHandler = { _, _ in }
      let config = DbSyncConfig([
        "removeAfterSync": true, "batchSize": 10, "markAsSynced": true, "skipSyncedData": true, "keepLastData": true,
        "deviceId": "device", "debug": true, "debugLevel": "trace", "backgroundSession": false,
        "compactDataFormat": true,
        "serverType": 4, "studyNumber": 7, "studyKey": "secret", "dispatchQueue": queue,
        "completionHandler": completed, "progressHandler": progressed,
      ])
      #expect(config.removeAfterSync && config.batchSize == 10 && config.markAsSynced && config.skipSyncedData)
      #expect(config.keepLastData && config.deviceId == "device" && config.debug && config.debugLevel == .trace)
      #expect(!config.backgroundSession && config.compactDataFormat && config.serverType == .aware_light)
      #expect(config.studyNumber == 7 && config.studyKey == "secret" && config.dispatchQueue === queue)
      #expect(config.completionHandler != nil && config.progressHandler != nil)
    }
  }
}
