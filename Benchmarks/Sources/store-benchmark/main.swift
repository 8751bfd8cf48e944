// Compares the library with hand-written C on the same libsqlcipher, in one run.
import Foundation

let arguments = CommandLine.arguments.dropFirst()
guard arguments.allSatisfy({ ["--quick", "--uploads"].contains($0) }) else {
  FileHandle.standardError.write(Data("usage: store-benchmark [--quick] [--uploads]\n".utf8))
  exit(2)
}
let memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
let folders = [memory, NSTemporaryDirectory()].map { base in
  URL(fileURLWithPath: base).appendingPathComponent("store-benchmark-\(UUID().uuidString)").path
}
func removeFolders() {
  for folder in folders { try? FileManager.default.removeItem(atPath: folder) }
}
do {
  for folder in folders {
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }
  try Benchmark(folder: folders[0], diskFolder: folders[1], rounds: 5, isQuick: arguments.contains("--quick")).run(
    onlyUploads: arguments.contains("--uploads"))
  removeFolders()
} catch {
  removeFolders()
  FileHandle.standardError.write(Data("store-benchmark: \(error)\n".utf8))
  exit(1)
}
