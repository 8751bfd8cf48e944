import EncryptedSQLite
import Foundation
import NotificationStore
import NotificationSync
import TestSupport
import Testing

@testable import com_awareframework_ios_sensor_notification

extension SensorTests {
  /// Each setting is seen at the server, or in what is left here.
  @Suite("Upload settings") struct UploadConfiguration {
    @Test("batchSize is the most rows of a request") func batchSize() throws {
      let server = try UploadBench.server(.acknowledge)
      let upload = try UploadBench(server, rows: 5)
      upload.upload.batchSize = 2
      upload.completion()
      #expect(server.requests().map(\.rows.count) == [2, 2, 1])
    }

    @Test(
      "removeAfterSync deletes on proof, without it where removeWithoutProof says so, and keepLastData leaves one",
      arguments: [
        // removeAfterSync, removeWithoutProof, keepLastData, proof, rows left
        (false, false, false, true, 3), (true, false, false, true, 0), (true, false, false, false, 3),
        (true, true, false, false, 0), (true, false, true, true, 1),
      ])
    func removal(_ each: (remove: Bool, unproven: Bool, keep: Bool, proof: Bool, left: Int)) throws {
      let server = try UploadBench.server(each.proof ? .acknowledge : .init(200, "{}"))
      let upload = try UploadBench(server)
      upload.upload.removeAfterSync = each.remove
      upload.upload.removeWithoutProof = each.unproven
      upload.upload.keepLastData = each.keep
      #expect(upload.completion()?.isComplete == true)
      #expect(try upload.payloads.count == each.left)
      #expect(try upload.pending == 0)
    }

    @Test("compactDataFormat writes columns") func compact() throws {
      let server = try UploadBench.server(.acknowledge)
      let upload = try UploadBench(server)
      upload.upload.compactDataFormat = true
      upload.completion()
      let data = server.requests().first?.envelope["data"] as? [String: Any]
      #expect((data?["payload"] as? [String])?.count == 3)
    }

    @Test(
      "Server type, study and key come from the sensor's configuration, or else from the upload's",
      arguments: [true, false])
    func study(_ isOfSensor: Bool) throws {
      let server = try UploadBench.server(.acknowledge)
      let upload = try UploadBench(server) { config in
        config.studyNumber = isOfSensor ? 7 : 1
        config.studyKey = "sensor's"
      }
      if !isOfSensor {
        upload.upload.studyNumber = 8
        upload.upload.studyKey = "uploads"
      }
      upload.completion()
      #expect(server.requests().map(\.path) == [isOfSensor ? "/api/7/sensor%27s/insert/" : "/api/8/uploads/insert/"])
      _ = upload.bench.push()
      if isOfSensor { upload.config.serverType = .aware_light } else { upload.upload.serverType = .aware_light }
      upload.completion()
      #expect(server.requests().last?.path == "/insert/")
      #expect(server.requests().last?.rows.first?["id"] == nil)
    }

    @Test("The envelope's device id: the upload's, the sensor's, or the store's") func deviceId() throws {
      let server = try UploadBench.server(.acknowledge)
      let upload = try UploadBench(server, rows: 1)
      upload.completion()
      let ofStore = try upload.bench.stored { $0.deviceId }
      #expect(!ofStore.isEmpty)
      upload.config.deviceId = "sensor"
      _ = upload.bench.push()
      upload.completion()
      upload.upload.deviceId = "upload"
      _ = upload.bench.push()
      upload.completion()
      upload.upload.deviceId = ""
      _ = upload.bench.push()
      upload.completion()
      #expect(
        server.requests().map { $0.envelope["deviceId"] as? String } == [ofStore, "sensor", "upload", "sensor"])
    }

    @Test("extendedColumns and createsTables are for servers of type aware", arguments: [true, false])
    func forms(_ isExtended: Bool) throws {
      let server = try UploadBench.server(.init(200, ""))
      let upload = try UploadBench(server)
      upload.upload.serverType = .aware
      upload.upload.extendedColumns = isExtended
      upload.upload.createsTables = isExtended
      #expect(upload.completion()?.isComplete == true)
      let requests = server.requests()
      let place = "/index.php/webservice/index/1/study-key/ios_silent_push/"
      #expect(requests.map(\.path) == (isExtended ? [place + "create_table", place + "insert"] : [place + "insert"]))
      let body = String(decoding: requests.last?.body ?? Data(), as: UTF8.self)
      #expect(body.contains("recordId") == isExtended)
    }

    @Test("The same settings, read from a dictionary") func dictionary() throws {
      let server = try UploadBench.server(.acknowledge)
      let upload = try UploadBench(server, rows: 3)
      upload.upload.set(config: [
        "batchSize": 2, "removeAfterSync": true, "serverType": 4, "deviceId": "from a dictionary", "keepLastData": true,
      ])
      upload.completion()
      #expect(server.requests().map(\.path) == ["/insert/", "/insert/"])
      #expect(server.requests().first?.envelope["deviceId"] as? String == "from a dictionary")
      #expect(try upload.payloads == [#"{"n":2}"#])
    }
  }
}
