import Foundation
import TestSupport
import Testing

/// `record` with and without a server, where a silent push commands a sync.
@Suite("record and the command sync") struct RecordSyncTests {
  private let upload: UploadingStudy
  private var study: Study { upload.study }
  private let command = #"{"aps":{"content-available":1},"aware_command":"sync"}"# + "\n"
  private let prefix = "broadcast com.awareframework.ios.sensor.notification"

  init() throws { upload = try UploadingStudy() }

  @Test("With --host it sends what is stored, and waits for that at the end") func sends() throws {
    let receiver = try UploadingStudy.receiver {
      $0.signingKeys = ["phone-7": Array(UploadingStudy.signingKey.utf8)]
      $0.requiresSignature = true
    }
    let options =
      try upload.options(receiver.port) + upload.signing() + ["--signing-key-id", "phone-7", "--batch-size", "4"]
      + ["--broadcasts"]
    let result = try study.run("record", with: options, input: command)
    #expect(result.status == 0 && result.errors.isEmpty)
    #expect(
      result.lines.filter { $0 != "committed 1" } == [
        prefix + ".SENSOR_START", prefix + ".SILENT_PUSH_RECEIVED", "command sync", prefix + ".COMMAND_SYNC",
        prefix + ".SYNC", prefix + ".SENSOR_SYNC_COMPLETION", "synced", prefix + ".SENSOR_STOP",
      ])
    #expect(receiver.rows(in: "ios_notification") == 5 && receiver.rows(in: "ios_silent_push") == 1)
    #expect(receiver.batches == 3)
  }

  @Test("Without --host the command is reported, and nothing more is done about it") func reports() throws {
    let result = try study.run("record", "--broadcasts", input: command)
    #expect(result.status == 0 && result.errors.isEmpty)
    #expect(
      result.lines == [
        prefix + ".SENSOR_START", prefix + ".SILENT_PUSH_RECEIVED", "command sync", prefix + ".COMMAND_SYNC",
        "committed 1", prefix + ".SENSOR_STOP",
      ])
  }

  @Test("Without a command nothing is sent") func noCommand() throws {
    let server = try UploadingStudy.server(.acknowledge)
    #expect(try study.run("record", with: upload.options(server.port), input: Study.pushes(1)).status == 0)
    #expect(server.connections == 0)
  }

  @Test("A sync that fails is told, and makes the exit status 1; the records are stored") func fails() throws {
    let server = try UploadingStudy.server(.init(401))
    let result = try study.run("record", with: upload.options(server.port), input: command + command)
    #expect(result.status == 1)
    #expect(result.errors.contains("answered 401") && !result.errors.contains(UploadingStudy.studyKey))
    #expect(result.lines.contains("committed 2") && !result.lines.contains("synced"))
    #expect(try study.run("list").lines.count == 7)
  }

  @Test("An interrupt ends it while the server hangs") func interrupted() throws {
    let server = try UploadingStudy.server(.hang, .acknowledge)
    let running = try study.start("record", with: upload.options(server.port), input: command)
    for _ in 0..<3000 where server.requests().isEmpty && running.isRunning { usleep(10_000) }
    running.signal(SIGINT)
    let result = running.finish()
    #expect(result.status == 130 && result.lines.contains("committed 1"))
    #expect(study.folder.names.filter { $0.hasPrefix("study.db") } == ["study.db"])
    #expect(try upload.sync(server.port).status == 0)
    #expect(try upload.uploads()["pending"] as? Int == 0)
  }

  @Test(
    "Options of an upload without --host are a wrong call, and what is wrong with them is told before the store is made",
    arguments: [["--batch-size", "3"], ["--compact"], ["--host", "localhost", "--server-type", "none"]])
  func usage(_ options: [String]) throws {
    let empty = Study()
    let result = try empty.run("record", with: options, input: command)
    #expect(result.status == 2 && result.errors.hasSuffix("--help\n"))
    #expect(empty.folder.names == ["study.key"])
  }
}
