// What a service extension takes, in a process of its own as on a phone: memory above an empty program, the time to the
// first record, how long a push waits while the app writes into the same store, and what one costs that must wait itself.
import AwareNotificationExtension
import EncryptedSQLite
import Foundation
import NotificationStore
import com_awareframework_ios_sensor_notification

let key = "x'\(String(repeating: "5a", count: 32))'"
let arguments = Array(CommandLine.arguments.dropFirst())

func configuration(_ path: String) -> NotificationSensor.Config {
  NotificationSensor.Config().apply { config in
    config.dbType = .sqlite
    config.dbPath = path
    config.dbEncryptionKey = key
    config.requestPermission = false
    config.callbackQueue = DispatchQueue(label: "callbacks")
  }
}

/// Delivers pushes one after another, and prints the milliseconds that each took; what memory that took last.
func runExtension(_ path: String, pushes: Int) throws {
  for number in 0..<pushes {
    let start = DispatchTime.now().uptimeNanoseconds
    let done = DispatchSemaphore(value: 0)
    // As the system does it: each notification has an object of its own.
    let recorder = NotificationServiceRecorder(configuration(path), onError: { print("failed \($0.code.rawValue)") })
    recorder.didReceive(
      DeliveredNotification(
        identifier: UUID().uuidString, content: NotificationContent(title: "title", body: "body \(number)"))
    ) { _ in done.signal() }
    done.wait()
    print(Double(DispatchTime.now().uptimeNanoseconds - start) / 1e6)
  }
  print("memory", try Memory.peak(), try Memory.own())
}

/// Hands pushes to a sensor for as long as its input is open, a few at a time, as fast as they are stored.
func runApp(_ path: String) {
  let sensor = NotificationSensor(configuration(path))
  sensor.start()
  FileHandle.standardOutput.write(Data("writing\n".utf8))
  var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
  var number = 0
  while poll(&input, 1, 0) == 0 {
    let done = DispatchSemaphore(value: 0)
    sensor.handleSilentPush(userInfo: ["aps": ["content-available": 1], "number": number]) { _ in done.signal() }
    done.wait()
    number += 1
  }
  sensor.suspend()
  print(number)
}

func run(_ program: String, _ arguments: [String]) throws -> [String] {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: program)
  process.arguments = arguments
  let output = Pipe()
  process.standardOutput = output
  try process.run()
  let data = output.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
}

func percentile(_ values: [Double], _ part: Double) -> Double {
  let sorted = values.sorted()
  return sorted.isEmpty ? .nan : sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
}

func text(_ milliseconds: Double) -> String { String(format: "%.1f ms", milliseconds) }

/// - Parameter megabytes: of the store.
func benchmark(_ folder: String, megabytes: Int, pushes: Int) throws {
  let path = folder + "/store.sqlite"
  let store = try NotificationStore(.init(path: path, key: EncryptionKey(key)))
  while try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0 < megabytes << 20 {
    try store.silentPushes.insert(
      (0..<2000).map { _ in
        var push = SilentPushData()
        push.payload = String(repeating: "payload ", count: 100)
        return push
      })
    try store.database.withWriter { try $0.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
  }
  try store.close()

  let own = ProcessInfo.processInfo.arguments[0]
  let folderOfPrograms = own.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
  func numbers(_ line: String?) -> [Int] { (line ?? "").split(separator: " ").compactMap { Int($0) } }
  let empty = numbers(try run(folderOfPrograms + "/empty-process", []).last)
  var firsts: [Double] = []
  var taken: [[Int]] = []
  for _ in 0..<5 {
    let lines = try run(own, ["extension", path, "20"])
    firsts.append(lines.first.flatMap { Double($0) } ?? .nan)
    taken.append(numbers(lines.last))
  }
  print("\nA service extension on a store of \(megabytes) MB, raw key")
  print("  first record in a new process, median of 5: \(text(percentile(firsts, 0.5)))")
  for (index, name) in ["resident at its peak, the code of libraries included", "of its own"].enumerated() {
    let most = taken.compactMap { $0.count > index ? $0[index] : nil }.max() ?? 0
    let base = empty.count > index ? empty[index] : 0
    print("  memory \(name): \(most) KiB, \(most - base) KiB more than an empty Swift program")
  }

  let app = Process()
  app.executableURL = URL(fileURLWithPath: own)
  app.arguments = ["app", path]
  let (input, output) = (Pipe(), Pipe())
  app.standardInput = input
  app.standardOutput = output
  try app.run()
  _ = output.fileHandleForReading.availableData
  let lines = try run(own, ["extension", path, "\(pushes)"])
  try input.fileHandleForWriting.close()
  app.waitUntilExit()
  let waits = lines.compactMap { Double($0) }
  print(
    "  \(waits.count) pushes while the app writes without a pause: "
      + "median \(text(percentile(waits, 0.5))), 99th percentile \(text(percentile(waits, 0.99))), longest \(text(waits.max() ?? .nan))"
  )
  let failed = lines.filter { $0.hasPrefix("failed") }
  if !failed.isEmpty { print("  \(failed.count) of them failed: \(Set(failed))") }
}

switch arguments.first {
case "extension": try runExtension(arguments[1], pushes: Int(arguments[2]) ?? 1)
case "app": runApp(arguments[1])
case nil, "--quick":
  let folder = NSTemporaryDirectory() + "/extension-benchmark-\(UUID().uuidString)"
  try FileManager.default.createDirectory(
    atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  defer { try? FileManager.default.removeItem(atPath: folder) }
  let isQuick = arguments.first != nil
  try benchmark(folder, megabytes: isQuick ? 20 : 200, pushes: isQuick ? 200 : 2000)
  try benchmarkSpool(folder, rounds: isQuick ? 1 : 5)
default:
  FileHandle.standardError.write(Data("usage: extension-benchmark [--quick]\n".utf8))
  exit(2)
}
