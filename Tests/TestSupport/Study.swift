import Foundation

/// A folder with a key and a store in it, driven through the command line.
public final class Study: Sendable {
  public let folder = TemporaryFolder()
  public let keyFile: String
  public var database: String { folder.path("study.db") }

  public init(key: String = Keys.rawText) {
    keyFile = folder.write("study.key", key + "\n")
  }

  /// Runs `aware-notification COMMAND --db … --key-file … ARGUMENTS`.
  @discardableResult
  public func run(_ command: String, _ arguments: String..., input: String = "") throws -> Program.Result {
    try Program.run(Program.tool, words(command, arguments), input: input, folder: folder.path)
  }

  /// As ``run(_:_:input:)``.
  @discardableResult
  public func run(_ command: String, with arguments: [String], input: String = "") throws -> Program.Result {
    try Program.run(Program.tool, words(command, arguments), input: input, folder: folder.path)
  }

  public func start(_ command: String, with arguments: [String], input: String? = nil) throws -> Program.Running {
    try Program.start(Program.tool, words(command, arguments), input: input, folder: folder.path)
  }

  public func start(_ command: String, _ arguments: String..., input: String? = nil) throws -> Program.Running {
    try Program.start(Program.tool, words(command, arguments), input: input, folder: folder.path)
  }

  /// The most memory that a command had, in KiB, as the kernel counts it.
  public func peakMemory(_ command: String, _ arguments: [String], input: String = "/dev/null") throws -> Int {
    let script = """
      import resource, subprocess, sys
      code = subprocess.run(sys.argv[2:], stdin=open(sys.argv[1]), stdout=subprocess.DEVNULL).returncode
      print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss if code == 0 else -1)
      """
    let python = ["-c", script, input, Program.tool] + words(command, arguments)
    let result = try Program.run("/usr/bin/python3", python)
    return Int(result.output.trimmingCharacters(in: .whitespacesAndNewlines)) ?? -1
  }

  private func words(_ command: String, _ arguments: [String]) -> [String] {
    [command, "--db", database, "--key-file", keyFile] + arguments
  }

  /// JSON lines of `count` visible pushes, each with its number as identifier and title.
  public static func pushes(_ count: Int, body: String = "text") -> String {
    (1...count).map { number in
      #"{"id":"\#(number)","receivedAt":1764460861000,"bundle":"org.example","payload":{"aps":{"alert":"#
        + #"{"title":"\#(number)","body":"\#(body)"}}}}"# + "\n"
    }.joined()
  }
}
