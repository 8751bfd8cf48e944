import Foundation

/// The server of Benchmarks/Servers as a process of its own, with a certificate that is made for it.
final class SinkServer {
  /// The file of the certificate, which a client trusts.
  let certificate: String
  let port: Int
  private let process = Process()

  /// - Parameter savingTo: the folder that gets each body.
  init(folder: String, savingTo bodies: String? = nil) throws {
    certificate = folder + "/server.pem"
    let key = folder + "/server.key"
    if !FileManager.default.fileExists(atPath: certificate) {
      try Self.run([
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
        key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
      ])
    }
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Servers/sink_server.py").path
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", script, certificate, key] + (bodies.map { [$0] } ?? [])
    process.standardOutput = output
    try process.run()
    var line: [UInt8] = []
    while line.last != UInt8(ascii: "\n"), let byte = try output.fileHandleForReading.read(upToCount: 1)?.first {
      line.append(byte)
    }
    guard let port = Int(String(decoding: line.dropLast(), as: UTF8.self)) else {
      throw Failure(description: "the sink server did not start")
    }
    self.port = port
  }

  deinit { stop() }

  func stop() {
    guard process.isRunning else { return }
    process.terminate()
    process.waitUntilExit()
  }

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Runs a program of the path to its end.
  static func run(_ words: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(description: "\(words[0]) ended with \(process.terminationStatus)")
    }
  }
}
