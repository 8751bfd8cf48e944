import AwareNotificationExtension
import EncryptedSQLite
import Foundation
import NotificationStore
import com_awareframework_ios_sensor_notification

/// What a push costs that must wait in the spool, against writing a file of its size durably; and their import.
func benchmarkSpool(_ folder: String, rounds: Int) throws {
  print("\nPushes that wait in the spool, one at a time, for want of a store (medians of \(rounds) rounds in turn)")
  for count in [1, 100, 1000] {
    var (spooled, bare, imported): ([Double], [Double], [Double]) = ([], [], [])
    for round in 0..<rounds {
      let path = folder + "/spool-\(count)-\(round)"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      let store = path + "/store.sqlite"
      spooled.append(
        milliseconds {
          for number in 0..<count { deliver(number, to: store) }
        })
      let names = try FileManager.default.contentsOfDirectory(atPath: store + ".spool")
      guard names.count == count else { fatalError("\(names.count) of \(count) pushes wait") }
      let size = try FileManager.default.attributesOfItem(atPath: store + ".spool/" + names[0])[.size] as? Int ?? 0
      bare.append(
        milliseconds {
          for number in 0..<count { writeFile(path, number, size) }
        })
      imported.append(
        try milliseconds {
          let store = try NotificationStore(.init(path: store, key: EncryptionKey(key)))
          guard store.spool.taken == count else { fatalError("\(store.spool.taken) of \(count) pushes were imported") }
          try store.close()
        })
      try FileManager.default.removeItem(atPath: path)
    }
    let (push, file) = (percentile(spooled, 0.5) / Double(count), percentile(bare, 0.5) / Double(count))
    print(
      "  \(count): \(text(push)) a push, \(text(file)) a bare file, ratio \(String(format: "%.2f", file / push)); "
        + "all imported into a new store in \(text(percentile(imported, 0.5)))")
  }
}

private func milliseconds(_ work: () throws -> Void) rethrows -> Double {
  let start = DispatchTime.now().uptimeNanoseconds
  try work()
  return Double(DispatchTime.now().uptimeNanoseconds - start) / 1e6
}

private func deliver(_ number: Int, to store: String) {
  let done = DispatchSemaphore(value: 0)
  let recorder = NotificationServiceRecorder(configuration(store), onError: { print("failed \($0)") })
  recorder.didReceive(
    DeliveredNotification(
      identifier: UUID().uuidString, content: NotificationContent(title: "title", body: "body \(number)"))
  ) { _ in done.signal() }
  done.wait()
}

/// A file written, synced, renamed, and its folder synced.
private func writeFile(_ folder: String, _ number: Int, _ size: Int) {
  let name = folder + "/file-\(number)"
  let file = open(name + ".new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
  let bytes = [UInt8](repeating: 7, count: size)
  guard file >= 0, write(file, bytes, size) == size, fsync(file) == 0, close(file) == 0,
    rename(name + ".new", name) == 0
  else { fatalError("cannot write \(name)") }
  let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0, fsync(descriptor) == 0, close(descriptor) == 0 else { fatalError("cannot sync \(folder)") }
}
