import EncryptedSQLite
import Foundation
import NotificationStore
import com_awareframework_ios_sensor_notification

// Does to a store what an app would, in a process of its own that a test may stop or kill.
//
//   store-helper open|create|read DB KEYFILE [--readable-header]     prints "ok", or the error's code
//   store-helper add DB KEYFILE TEXT              inserts a row into the table of a small store
//   store-helper texts DB KEYFILE [wait]          prints the texts of a small store; waits in that transaction for its input's end
//   store-helper create-slowly DB KEYFILE         says "preparing" in the new file, and goes on when its input ends
//   store-helper insert DB KEYFILE COUNT          looks a row up and inserts it, COUNT times
//   store-helper pairs DB KEYFILE                 inserts two rows a transaction until its input ends, and prints the
//                                                 transaction's number once it is committed
//   store-helper migrate DB KEYFILE               applies a step that says "in step" and then takes for ever
//   store-helper scan DB KEYFILE COUNT            makes COUNT rows, goes through them, prints "grew KIB"
//   store-helper hold DB KEYFILE SQL              runs SQL in a write transaction and holds it until its input ends
//   store-helper sensor DB KEYFILE COUNT [TEXT]   hands COUNT silent pushes to a sensor, prints each result
//   store-helper adopt DB KEYFILE [STAGE [TO]]    adopts a plaintext store, and is killed when STAGE is done
//   store-helper rotate DB OLDKEYFILE NEWKEYFILE [--rewrite]         prints "rotated", or "done" if it was already
//   store-helper rotate-open DB OLDKEYFILE NEWKEYFILE [--rewrite]    as rotate, of a database that is open, into which it
//                                                 then inserts a row and prints the outcome
//   store-helper rotate-sensor DB KEYFILE NEWKEYFILE [--kept]   rotates by a sensor, whose key store is KEYFILE with --kept,
//                                                 prints the outcome and which keys are at hand, and hands it a push
//   store-helper backup DB KEYFILE TO             copies the database
//   store-helper restore DB KEYFILE FROM          puts a copy of a backup in its place
//   store-helper upgrade DB KEYFILE               brings it to the library's format
//   store-helper post URL [ca=PATH] [pin=PIN]… [cert=PATH key=PATH] [proxy=URL] [after-libcurl]    sends one request
//   store-helper salvage DB KEYFILE DAMAGED       makes it of what the damaged store still gives
//   store-helper app|extension DB KEYFILE FROM TO   hands the pushes FROM..<TO over as app or service extension
//   store-helper alone PUSH KEYFILE               hands a push to a sensor, whose store has a name
//   store-helper group NAME KEYFILE               shares a store between a sensor and a recorder in that app group
//   store-helper spool DB KEYFILE COUNT           lets COUNT pushes, n0, n1, …, wait in the spool, prints "durable N"
//   store-helper keep DB KEYFILE SQL              runs SQL, keeps its connection until its input ends, inserts a row
//   store-helper sync DB KEYFILE HOST CA STUDYKEY [batch=N] [lease=SECONDS] [kill-after=ANSWERS] [remove]
//                                                 sends what waits, printing a line a batch
//
// With --wait=SECONDS as its last argument it waits that long for locks.
// With AS_NOBODY=1 in the environment it gives up root first; with SAYS_WAITING=1 it says "waiting" when it waits for a lock.

func say(_ text: String) {
  FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

/// The most memory that this process had, in KiB. Not by `getrusage`, whose maximum counts what the parent had when it
/// started this one.
func peakMemory() -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
  return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
}

let arguments = Array(CommandLine.arguments.dropFirst())
let (command, path) = (arguments[0], arguments[1])
if command == "post" { Post.run(path, Array(arguments.dropFirst(2))) }
let key = try KeyFile.read(arguments[2])
let newKey = command.hasPrefix("rotate") ? try KeyFile.read(arguments[3]) : nil
if ProcessInfo.processInfo.environment["AS_NOBODY"] == "1", geteuid() == 0 {
  guard setgid(65534) == 0, setuid(65534) == 0 else { fatalError("cannot give up root") }
}

if let wait = arguments.last?.split(separator: "=").last.flatMap({ Double($0) }), arguments.last!.hasPrefix("--wait=") {
  LockWait.policy.timeout = wait
}
if ProcessInfo.processInfo.environment["SAYS_WAITING"] == "1" {
  LockWait.policy.withLock {
    ($0.timeout, $0.noticeDelay) = (60, 0)
    $0.notice = { _ in say("waiting") }
  }
}

do {
  switch command {
  case "add":
    let database = try Database(path: path, key: key, creating: false) { _ in }
    try database.write { try $0.run("INSERT INTO item (text) VALUES (?)", .text(arguments[3])) }
    try database.close()
  case "texts":
    let connection = try Connection.open(path, key: key, options: .init(access: .readOnly))
    try connection.readTransaction {
      try connection.forEachRow("SELECT text FROM item ORDER BY id") { say($0.string(at: 0)) }
      if arguments.count > 3 { _ = FileHandle.standardInput.readDataToEndOfFile() }
    }
    try connection.close()
  case "open":
    try NotificationStore(.init(path: path, key: key, creating: false)).close()
  case "create":
    try NotificationStore(
      .init(path: path, key: key, hasReadableHeader: arguments.contains("--readable-header"))
    ).close()
  case "create-slowly":
    let isFirst = try Database.create(path, key: key) { connection in
      try connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, text TEXT)")
      say("preparing")
      _ = FileHandle.standardInput.readDataToEndOfFile()
    }
    say(isFirst ? "first" : "second")
    exit(0)
  case "read":
    try NotificationStore(.init(path: path, key: key, access: .readOnly)).close()
  case "insert":
    let store = try NotificationStore(.init(path: path, key: key))
    for number in 0..<Int(arguments[3])! {
      try store.database.write { connection in
        _ = try connection.integer("SELECT count(*) FROM ios_silent_push WHERE payload = 'none'")
        let text = "\(getpid())-\(number)"
        try connection.run(
          "INSERT INTO ios_silent_push (timestamp, deviceId, label, timezone, os, jsonVersion, payload, recordId) "
            + "VALUES (1, 'd', '', 0, 'iOS', 2, ?, ?)", .text(text), .text(RecordID.random()))
      }
    }
    try store.close()
  case "pairs":
    let store = try NotificationStore(.init(path: path, key: key))
    var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    var number = 0
    while poll(&input, 1, 0) == 0 {
      number += 1
      try store.silentPushes.insert(
        (0..<2).map { _ in
          var push = SilentPushData(timestamp: Int64(getpid()))
          push.payload = "\(number)"
          return push
        })
      say("\(number)")
    }
    try store.close()
  case "migrate":
    let slow = Migration(
      version: 3, name: "slow",
      sql: "UPDATE ios_silent_push SET label = 'third', jsonVersion = 3 + take_for_ever(id)")
    let connection = try Connection.open(path, key: key)
    try connection.register("take_for_ever") { values in
      if case .integer(57)? = values.first {
        say("in step")
        sleep(60)
      }
      return .integer(0)
    }
    try SchemaMigrator(Migration.all + [slow]).migrate(connection)
  case "scan":
    let store = try NotificationStore(.init(path: path, key: key))
    let count = Int(arguments[3])!
    for start in stride(from: 0, to: count, by: 5000) {
      try store.silentPushes.insert((start..<min(count, start + 5000)).map { SilentPushData(timestamp: Int64($0)) })
    }
    _ = try store.silentPushes.page(limit: 500)
    let before = peakMemory()
    var cursor = store.silentPushes.cursor()
    var seen = 0
    while try cursor.next() != nil { seen += 1 }
    var last: Int64 = 0
    while let id = try store.silentPushes.page(after: last, limit: 1000).last?.id { last = id }
    guard seen == count, last == Int64(count) else { fatalError("rows are missing") }
    say("grew \(peakMemory() - before)")
    try store.close()
  case "hold":
    let connection = try Connection.open(path, key: key)
    try connection.writeTransaction {
      try connection.execute(arguments[3])
      say("holding")
      _ = FileHandle.standardInput.readDataToEndOfFile()
    }
  case "sensor":
    let sensor = NotificationSensor()
    sensor.CONFIG.dbType = .sqlite
    sensor.CONFIG.dbPath = path
    sensor.CONFIG.dbEncryptionKey = key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    sensor.CONFIG.debug = true
    sensor.CONFIG.callbackQueue = DispatchQueue(label: "callbacks")
    sensor.start()
    for _ in 0..<Int(arguments[3])! {
      let done = DispatchSemaphore(value: 0)
      sensor.handleSilentPush(userInfo: ["text": arguments.last!, "aware_command": "sync"]) { result in
        say("\(result)")
        done.signal()
      }
      done.wait()
    }
    let closed = DispatchSemaphore(value: 0)
    sensor.stop()
    sensor.whenIdle { closed.signal() }
    closed.wait()
  case "adopt":
    let report = try PlaintextStore.adopt(at: path, into: arguments.count > 4 ? arguments[4] : nil, key: key) { stage in
      if arguments.count > 3, stage.rawValue == arguments[3] { kill(getpid(), SIGKILL) }
    }
    say(report.map { $0.isOnlyFinished ? "finished" : "adopted" } ?? "nothing")
  case "rotate":
    let report = try Database.rotateEncryptionKey(
      of: path, from: key, to: newKey!, rewriting: arguments.contains("--rewrite"))
    say(report.wasDone ? "done" : "rotated")
  case "rotate-sensor": Pushes.rotate(path, key, newKey!, keyStore: arguments.contains("--kept") ? arguments[2] : nil)
  case "backup":
    _ = try Database.backUp(path, key: key, to: arguments[3])
  case "restore":
    _ = try Database.restore(path, key: key, from: arguments[3])
  case "upgrade":
    _ = try Database.upgradeCipher(of: path, key: key)
  case "salvage":
    _ = try StoreSalvage.salvage(arguments[3], into: path, key: key)
  case "rotate-open":
    let database = try Database(path: path, key: key, creating: false) { _ in }
    func outcome(_ body: () throws -> String) throws -> String {
      do { return try body() } catch let error as DatabaseError { return error.code.rawValue }
    }
    say(
      try outcome {
        let report = try database.rotateEncryptionKey(to: newKey!, rewriting: arguments.contains("--rewrite"))
        return report.wasDone ? "done" : "rotated"
      })
    say(
      try outcome {
        try database.write { try $0.run("INSERT INTO item (text) VALUES ('inserted')") }
        return "inserted"
      })
    try database.close()
  case "keep":
    let connection = try Connection.open(path, key: key)
    try connection.execute(arguments[3])
    say("keeping")
    _ = FileHandle.standardInput.readDataToEndOfFile()
    if connection.isInTransaction { try connection.execute("COMMIT") }
    try connection.run("INSERT INTO item (text) VALUES ('theirs')")
    try connection.close()
  case "spool":
    let pushes = (0..<Int(arguments[3])!).map { number in
      var data = NotificationData(timestamp: Int64(number))
      (data.notificationId, data.body, data.source) = ("n\(number)", "body \(number)", .extension)
      data = data.identified
      let receipt = DeliveryReceipt(recordId: data.recordId, notificationId: "n\(number)", receivedAt: 1)
      return [SpoolEntry.notification(data), .receipt(receipt)]
    }
    say("durable \(try NotificationSpool(besideStore: path).append(pushes, key: key))")
  case "app": Pushes.app(path, key, Int(arguments[3])!..<Int(arguments[4])!)
  case "extension": Pushes.extension(path, key, Int(arguments[3])!..<Int(arguments[4])!)
  case "alone": Pushes.alone(key, path)
  case "group": Pushes.group(key, path)
  case "label": try Pushes.label(key, path)
  case "sync":
    try Sync.run(path, key, Array(arguments.dropFirst(3)))
  default:
    fatalError("no such command")
  }
  say("ok")
} catch let error as DatabaseError {
  say(error.code.rawValue)
  exit(1)
}
