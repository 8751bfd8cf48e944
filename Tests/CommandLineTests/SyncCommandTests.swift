import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@Suite("sync") struct SyncCommandTests {
  private let upload: UploadingStudy
  private var study: Study { upload.study }

  init() throws { upload = try UploadingStudy() }

  @Test("sends each row once, and says so") func once() throws {
    let receiver = try UploadingStudy.receiver()
    let result = try upload.sync(receiver.port)
    #expect(result.status == 0 && result.errors.isEmpty)
    #expect(
      Set(result.lines) == [
        "ios_notification: 5 sent, 0 waiting", "ios_notification_token: 0 sent, 0 waiting",
        "ios_silent_push: 0 sent, 0 waiting",
      ])
    #expect(receiver.distinctRecordIds(in: "ios_notification") == 5)
    let again = try #require(JSON.parse(try upload.sync(receiver.port, ["--json"]).output) as? [String: Any])
    #expect(again["complete"] as? Bool == true && again["sent"] as? Int == 0)
    #expect(receiver.rawRequests.count == 1)
    #expect(try study.run("status").output.contains("5 records, 0 not sent\n  last sent: 20"))
  }

  @Test(
    "goes where type and study say",
    arguments: [
      ("aware_micro", "/api/7/study-s3cret/insert/", "{}"), ("aware_light", "/insert/", "{}"),
      ("aware", "/index.php/webservice/index/7/study-s3cret/ios_notification/insert", ""),
    ])
  func places(_ type: String, _ path: String, _ answer: String) throws {
    let server = try UploadingStudy.server(.init(200, answer))
    let result = try upload.sync(server.port, ["--server-type", type, "--study", "7"])
    #expect(result.status == 0 && result.errors.isEmpty)
    #expect(server.requests().map(\.path) == [path])
  }

  @Test("signs under the device id, or under --signing-key-id", arguments: [true, false]) func signed(_ isNamed: Bool)
    throws
  {
    let id = isNamed ? "phone-7" : try NotificationStore(.init(path: study.database, key: try Keys.raw)).deviceId
    let receiver = try UploadingStudy.receiver {
      $0.signingKeys = [id: Array(UploadingStudy.signingKey.utf8)]
      $0.requiresSignature = true
    }
    let unsigned = try upload.sync(receiver.port)
    #expect(unsigned.status == 1 && unsigned.errors.contains("signing key"))
    let named = isNamed ? ["--signing-key-id", id] : []
    let forged = try upload.sync(receiver.port, upload.signing("another key, also of more than 32 bytes") + named)
    #expect(forged.status == 1 && receiver.rows(in: "ios_notification") == 0)
    #expect(try upload.sync(receiver.port, upload.signing() + named).status == 0)
    #expect(receiver.rows(in: "ios_notification") == 5)
  }

  @Test(
    "A key file's line end is not part of the signing key, here and at the receiver", arguments: ["\n", "\r\n", ""])
  func lineEnds(_ end: String) throws {
    let path = study.folder.path("made.key")
    #expect(try Program.run(Program.tool, ["keygen", "--signing", "--key-file", path]).status == 0)
    let digits = try String(contentsOfFile: path, encoding: .utf8).dropLast()
    let copy = study.folder.write("copy.key", digits + end)
    let receiver = try UploadingStudy.receiver {
      $0.more = ["--signing-key", "phone-7=\(path)"]
      $0.requiresSignature = true
    }
    let signing = ["--signing-key-file", copy, "--signing-key-id", "phone-7"]
    #expect(try upload.sync(receiver.port, signing).status == 0)
    #expect(receiver.rows(in: "ios_notification") == 5)
  }

  @Test("trusts what --ca and --pin say, and shows --client-cert") func trust() throws {
    let (authority, identity) = try TestAuthority.shared
    let client = try authority.client(name: "operator")
    var settings = ScriptedServer.Settings([.acknowledge])
    settings.clientAuthority = authority.certificate
    let server = try ScriptedServer(identity, settings)
    let shown = ["--client-cert", client.chain, "--client-key", client.key]
    let host = ["--host", "localhost:\(server.port)"]
    for options in [host + shown, try upload.options(server.port) + shown + ["--pin", client.pin]] {
      let result = try study.run("sync", with: options)
      #expect(result.status == 1 && result.errors.split(separator: "\n").count == 1)
    }
    #expect(server.requests().isEmpty)
    #expect(try upload.sync(server.port, shown + ["--pin", client.pin, "--pin", identity.pin]).status == 0)
    #expect(server.requests().count == 1 && server.handshakes.last?.client == "operator")
  }

  @Test("cuts batches by --batch-size, writes columns with --compact") func batches() throws {
    let server = try UploadingStudy.server(.acknowledge)
    #expect(try upload.sync(server.port, ["--batch-size", "2", "--compact"]).status == 0)
    let counts = server.requests().map { request in
      let body = JSON.parse(String(decoding: request.body, as: UTF8.self)) as? [String: Any]
      return ((body?["data"] as? [String: Any])?["title"] as? [String])?.count
    }
    #expect(counts == [2, 2, 1])
  }

  @Test("--create-tables and --extended-columns are for servers of type aware") func forms() throws {
    let server = try UploadingStudy.server(.init(200, ""))
    let options = ["--server-type", "aware", "--create-tables", "--extended-columns"]
    #expect(try upload.sync(server.port, options).status == 0)
    #expect(server.requests().map { String($0.path.split(separator: "/").last ?? "") } == ["create_table", "insert"])
    let body = try #require(server.requests().last).body
    #expect(body.range(of: Data("recordId".utf8)) != nil)
  }

  @Test("deletes here only what --remove-after-sync and the server's answer allow") func removal() throws {
    let server = try UploadingStudy.server(.init(200, "{}"), .acknowledge, .init(200, "{}"))
    let remove = ["--remove-after-sync"]
    #expect(try upload.sync(server.port, remove).output.contains("5 sent, 0 waiting"))
    #expect(try study.run("list").lines.count == 5)
    _ = try study.run("record", input: Study.pushes(7).split(separator: "\n").suffix(2).joined(separator: "\n"))
    #expect(try upload.sync(server.port, remove).output.contains("2 sent, 2 removed here, 0 waiting"))
    #expect(try study.run("list").lines.count == 5)
    let all = remove + ["--remove-without-proof", "--from-start"]
    #expect(try upload.sync(server.port, all).output.contains("5 sent, 5 removed here, 0 waiting"))
    #expect(try study.run("list").lines.isEmpty)
  }

  @Test("--from-start sends everything once more, and the receiver drops it") func fromStart() throws {
    let receiver = try UploadingStudy.receiver()
    try upload.sync(receiver.port)
    let result = try upload.sync(receiver.port, ["--from-start"])
    #expect(result.status == 0 && result.output.contains("5 sent (5 of them known to the server), 0 waiting"))
    #expect(receiver.rows(in: "ios_notification") == 5)
  }

  @Test("--dry-run sends nothing, changes nothing, and tells what would go where") func dryRun() throws {
    let server = try UploadingStudy.server(.acknowledge)
    let before = study.folder.contents
    let options = upload.signing() + ["--dry-run"]
    let text = try upload.sync(server.port, options)
    let json = try upload.sync(server.port, options + ["--json", "--from-start"])
    #expect(text.status == 0 && text.output.contains("ios_notification: 5 records to send"))
    let object = try #require(JSON.parse(json.output) as? [String: Any])
    #expect((object["pending"] as? [String: Int])?["ios_notification"] == 5)
    for output in [text.output, json.output] {
      #expect(output.contains("localhost:\(server.port)"))
      #expect(!output.contains(UploadingStudy.studyKey) && !output.contains(UploadingStudy.signingKey))
    }
    #expect(server.connections == 0)
    #expect(study.folder.contents.filter { before[$0.key] != nil } == before)
  }

  @Test("A secret may come from a pipe, which can be read once only") func pipe() throws {
    let receiver = try UploadingStudy.receiver {
      $0.signingKeys = ["phone-7": Array(UploadingStudy.signingKey.utf8)]
      $0.requiresSignature = true
    }
    let line = """
      exec "$0" sync --db "$1" --key-file "$2" --host localhost:\(receiver.port) --ca "$3" --signing-key-id phone-7 \
      --study-key-file <(echo \(UploadingStudy.studyKey)) --signing-key-file <(echo '\(UploadingStudy.signingKey)')
      """
    let result = try Program.run(
      "/bin/bash",
      ["-c", line, Program.tool, study.database, study.keyFile, try TestAuthority.shared.authority.certificate])
    #expect(result.status == 0 && result.errors.isEmpty)
    #expect(receiver.rows(in: "ios_notification") == 5)
  }

  @Test(
    "A wrong call ends with 2",
    arguments: [
      ["--batch-size", "many"], ["--study", "-1"], ["--server-type", "aware_max"], ["--signing-key-id", "a"],
      ["--remove-without-proof"], ["--host", "twice"], ["--signing-key", "SECRET"], ["--study-key=SECRET"], ["operand"],
    ])
  func usage(_ arguments: [String]) throws {
    let server = try UploadingStudy.server(.acknowledge)
    let result = try upload.sync(server.port, arguments)
    #expect(result.status == 2 && result.output.isEmpty)
    #expect(result.errors.hasSuffix("--help\n") && result.errors.split(separator: "\n").count == 1)
    #expect(!result.errors.contains("SECRET"))
    #expect(server.connections == 0)
  }

  @Test("Without --host it is a wrong call") func noHost() throws {
    let result = try study.run("sync")
    #expect(result.status == 2 && result.errors.contains("--host is missing"))
  }

  @Test(
    "A value that cannot be used ends with 2 and one line that names the option, before anything is sent",
    arguments: [
      ("--batch-size", "0", "1 to 100000"), ("--batch-size", "9223372036854775807", "1 to 100000"),
      ("--proxy", "socks5://localhost:1", "http://host:port"),
      ("--pin", "sha256//SECRET", "public-key pin"), ("--pin", "abc", "public-key pin"),
      ("--client-cert", "study.key", "client key"), ("--client-key", "study.key", "client certificate"),
      ("--client-cert", "absent.pem", "missing"), ("--signing-key-file", "short.key", "32 or more"),
      ("--signing-key-file", "SECRET", "no file"), ("--signing-key-file", "empty.key", "is empty"),
      ("--compact", "--server-type=aware", "aware"),
    ])
  func values(_ option: String, _ value: String, _ words: String) throws {
    let server = try UploadingStudy.server(.acknowledge)
    _ = study.folder.write("short.key", "short\n")
    _ = study.folder.write("empty.key", "\n")
    let result = try upload.sync(server.port, [option, value])
    expectRefused(result, words)
    #expect(result.errors.contains(option))
    #expect(server.connections == 0)
  }

  @Test("A secret that others can read is no wrong call, and is told of") func exposed() throws {
    _ = study.folder.write("open.key", UploadingStudy.signingKey, mode: 0o644)
    try expectRefused(
      study.run("sync", "--host", "localhost", "--signing-key-file", "open.key"), "chmod 600", status: 1)
  }

  @Test("An id of the signing key that no header can have is a wrong call", arguments: ["", "ü"])
  func signingIds(_ id: String) throws {
    let options = upload.signing() + ["--host", "localhost", "--signing-key-id", id]
    try expectRefused(study.run("sync", with: options), "--signing-key-id")
  }

  @Test("Where a part was sent and a part waits, the status is 1") func part() throws {
    let server = try UploadingStudy.server(.acknowledge, .init(500, ""))
    let result = try upload.sync(server.port, ["--batch-size", "2"])
    #expect(result.status == 1)
    #expect(result.output.contains("ios_notification: 2 sent, 3 waiting"))
    #expect(result.errors.split(separator: "\n").count == 1)
    #expect(try upload.uploads()["pending"] as? Int == 3)
    let json = try upload.sync(server.port, ["--json"])
    #expect(json.status == 1 && (JSON.parse(json.output) as? [String: Any])?["complete"] as? Bool == false)
  }

  @Test(
    "A host that cannot be used is a wrong call, and is not repeated",
    arguments: [
      "user:SECRET@localhost", "localhost/?key=SECRET", "ftp://localhost", "", "a b/ü", "/api", "localhost:99999",
    ])
  func hosts(_ host: String) throws {
    try expectRefused(study.run("sync", "--host", host), "--host: the host cannot be used")
  }

  @Test("A missing or empty file of the study's key, or of --ca, is told of")
  func files() throws {
    try expectRefused(study.run("sync", "--host", "localhost", "--study-key-file", "SECRET"), "--study-key-file")
    try expectRefused(study.run("sync", "--host", "localhost", "--ca", "absent.pem"), "absent.pem")
  }

  private func expectRefused(_ result: Program.Result, _ words: String, status: Int32 = 2) {
    #expect(result.status == status && result.output.isEmpty)
    for property in ["dbHost", "batchSize", "compactDataFormat", "syncSigningKey"] {
      #expect(!result.errors.contains(property))
    }
    #expect(result.errors.hasPrefix("aware-notification: ") && result.errors.split(separator: "\n").count == 1)
    #expect(result.errors.contains(words), "\(result.errors)")
    #expect(!result.errors.contains("SECRET"))
  }

  @Test("The help of what uploads names every option", arguments: ["sync", "record"]) func help(_ command: String)
    throws
  {
    let help = try Program.run(Program.tool, [command, "--help"]).output
    for option in [
      "host", "server-type", "study", "study-key-file", "signing-key-file", "signing-key-id", "ca", "pin",
      "client-cert",
      "client-key", "proxy", "batch-size", "compact", "extended-columns", "create-tables", "remove-after-sync",
      "remove-without-proof",
    ] {
      #expect(help.contains("  --\(option) "))
    }
    #expect(help.split(separator: "\n").allSatisfy { $0.count <= 120 })
  }
}
