import Foundation

/// Programs that tests run as processes of their own.
public enum Program {
  public struct Result: Sendable {
    public let status: Int32
    public let output: String
    public let errors: String
    public var lines: [String] { output.split(separator: "\n").map(String.init) }
  }

  /// The folder of this build's products.
  public static let products: String = {
    // The test runner stands in the folder, or in a bundle in it.
    var folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    for argument in CommandLine.arguments where argument.hasSuffix(".xctest") {
      folder = URL(fileURLWithPath: argument).deletingLastPathComponent()
    }
    return folder.path
  }()

  /// The program that `TESTED_PROGRAM` names, such as an optimized build; otherwise the one of this build.
  public static let tool = tested ?? products + "/aware-notification"
  public static let tested = ProcessInfo.processInfo.environment["TESTED_PROGRAM"]
  public static var helper: String { products + "/store-helper" }
  /// The stock shell of the SQLCipher generation that this build links.
  public static var shell: String { ProcessInfo.processInfo.environment["SQLCIPHER_SHELL"] ?? "/usr/bin/sqlcipher" }
  /// The repository's root.
  public static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path
  /// The Python of the package's virtual environment, which `make setup` makes.
  public static let python = root + "/.venv/bin/python"

  /// Runs a program to its end.
  public static func run(
    _ program: String, _ arguments: [String], input: String = "", environment: [String: String] = [:],
    folder: String? = nil
  ) throws -> Result {
    let running = try start(program, arguments, input: input, environment: environment, folder: folder)
    return running.finish()
  }

  public static func start(
    _ program: String, _ arguments: [String], input: String? = nil, environment: [String: String] = [:],
    folder: String? = nil
  ) throws -> Running {
    try Running(program, arguments, input, environment, folder)
  }

  /// A process under way. Its output goes to files, so that it never waits for a reader.
  public final class Running {
    private let process = Process()
    private let files = TemporaryFolder()
    private var inputPipe: Pipe?
    /// Held from making a pipe to starting its reader: a process started between the two would inherit the writing end
    /// and keep the reader from ever seeing the end of its input.
    private static let starting = NSLock()

    fileprivate init(
      _ program: String, _ arguments: [String], _ input: String?, _ environment: [String: String], _ folder: String?
    ) throws {
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = arguments
      process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
      if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
      process.standardOutput = FileHandle(forWritingAtPath: files.write("output", ""))
      process.standardError = FileHandle(forWritingAtPath: files.write("errors", ""))
      Self.starting.lock()
      defer { Self.starting.unlock() }
      if let input {
        process.standardInput = FileHandle(forReadingAtPath: files.write("input", input))
      } else {
        let pipe = Pipe()
        _ = fcntl(pipe.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        process.standardInput = pipe
        inputPipe = pipe
      }
      try process.run()
    }

    public var identifier: Int32 { process.processIdentifier }
    public var isRunning: Bool { process.isRunning }
    public var output: String { read("output") }

    public func kill() { _ = Foundation.kill(process.processIdentifier, SIGKILL) }
    public func signal(_ number: Int32) { _ = Foundation.kill(process.processIdentifier, number) }

    public func type(_ text: String) { inputPipe?.fileHandleForWriting.write(Data(text.utf8)) }
    public func closeInput() { try? inputPipe?.fileHandleForWriting.close() }

    /// Waits until a line of its output begins with `text`; false when it ended, or after 30 seconds.
    public func waitForLine(_ text: String) -> Bool {
      for _ in 0..<15_000 {
        if output.split(separator: "\n").contains(where: { $0.hasPrefix(text) }) { return true }
        if !process.isRunning { return output.split(separator: "\n").contains { $0.hasPrefix(text) } }
        usleep(2000)
      }
      return false
    }

    /// Waits until a whole line of its output is there; false when it ended without one, or after 30 seconds.
    public func waitForFirstLine() -> Bool {
      for _ in 0..<15_000 {
        if output.contains("\n") { return true }
        if !process.isRunning { return output.contains("\n") }
        usleep(2000)
      }
      return false
    }

    /// Waits for its end. After two minutes it is killed, so that a fault shows as a failure and not as a hang.
    public func finish() -> Result {
      let end = Date() + 120
      while process.isRunning {
        if Date() > end { kill() }
        usleep(1000)
      }
      process.waitUntilExit()
      return Result(status: process.terminationStatus, output: read("output"), errors: read("errors"))
    }

    private func read(_ name: String) -> String {
      String(decoding: FileManager.default.contents(atPath: files.path(name)) ?? Data(), as: UTF8.self)
    }
  }
}

/// How often the campaigns repeat: a small number in the suite, more with `CAMPAIGN=500`.
public enum Campaign {
  /// Whether this is a run under a sanitizer, which has memory of its own (`make sanitize` says so).
  public static let isSanitized = ProcessInfo.processInfo.environment["SANITIZED"] != nil

  public static func count(_ short: Int) -> Int {
    max(short, length ?? 0)
  }

  /// Whether this is a run that repeats them at length.
  public static var isLong: Bool { length != nil }

  /// Calls `body`. In a long run its first failure ends the process, and `folders` stay as they are then.
  public static func run(keeping folders: TemporaryFolder..., body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      guard isLong else { throw error }
      print("campaign: stopped at a loss; see \(folders.map(\.path).joined(separator: " and "))")
      exit(1)
    }
  }

  /// Prints what a campaign came to, in a long run.
  public static func report(_ text: String) {
    if isLong { print("campaign: \(text)") }
  }

  private static let length = Int(ProcessInfo.processInfo.environment["CAMPAIGN"] ?? "")
}

/// A generator with a fixed seed (SplitMix64), so that a failed run can be repeated.
public struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64
  public init(seed: UInt64) { state = seed }
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
