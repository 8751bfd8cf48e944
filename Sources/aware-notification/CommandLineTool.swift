import CCommandLine
import EncryptedSQLite
import Foundation
import NotificationStore

/// The program: finds the subcommand, runs it, and turns errors into messages and exit statuses.
enum CommandLineTool {
  static let version = "0.1.0"
  static var commands: [any Command.Type] {
    [
      Keygen.self, Init.self, Encrypt.self, Record.self, Token.self, List.self, Export.self, Status.self,
      Sync.self, Requeue.self, Migrate.self, RotateKey.self, Backup.self, Restore.self, Verify.self, Wipe.self,
    ]
  }

  static func run(_ words: [String]) -> Int32 {
    do {
      try reserveDescriptors()
      return try dispatch(Array(words.dropFirst()))
    } catch let error as UsageError {
      Output.error("\(error.message): see aware-notification --help")
      return 2
    } catch let error as DatabaseError {
      let isWayAround = error.code == .invalidRawKey && !words.contains("--passphrase")
      Output.error(error.message + (isWayAround ? "; add --passphrase where it is meant as one" : ""))
      let signal = command_line_interrupt()
      return error.code == .cancelled && signal != 0 ? 128 + signal : 1
    } catch let interruption as Interruption {
      return 128 + interruption.signal
    } catch {
      Output.error("\(error)")
      return 1
    }
  }

  /// Checks that there are descriptors for the store, its folder and locks, the input, and the system's libraries, some
  /// of which end the process when they get none.
  private static func reserveDescriptors() throws {
    var descriptors: [Int32] = []
    defer { descriptors.forEach { close($0) } }
    for _ in 0..<16 {
      let descriptor = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
      guard descriptor >= 0 else {
        throw DatabaseError(.inputOutput, "this process may open too few files: raise the limit (ulimit -n 256)")
      }
      descriptors.append(descriptor)
    }
  }

  /// A command is worth waiting for, since nothing else goes on in this process; on a terminal it says so, once.
  static func configureWaiting() {
    let isNoticeGiven = Locked(false)
    LockWait.policy.withLock { policy in
      policy.timeout = 60
      policy.isInterrupted = { command_line_interrupt() != 0 }
      guard isatty(STDERR_FILENO) == 1 else { return }
      policy.notice = { path in
        guard
          isNoticeGiven.withLock({
            let isFirst = !$0; $0 = true; return isFirst
          })
        else { return }
        Output.error("waiting for another program that uses \(path)")
      }
    }
  }

  private static func dispatch(_ words: [String]) throws -> Int32 {
    switch words.first {
    case nil: throw UsageError("a command is missing")
    case "help" where words.count > 1:
      guard words.count == 2, let command = commands.first(where: { $0.name == words[1] }) else {
        throw UsageError("help takes the name of one command")
      }
      try Output.write(help(of: command))
      return 0
    case "--help", "-h", "help":
      try Output.write(help)
      return 0
    case "--version":
      guard words.count == 1 || words.dropFirst() == ["--json"] else {
        throw UsageError("--version takes --json and nothing else")
      }
      try writeVersion(asJSON: words.count > 1)
      return 0
    case let name?:
      guard let command = commands.first(where: { $0.name == name }) else {
        throw UsageError(name.hasPrefix("-") ? "the command comes first, then its options" : "there is no such command")
      }
      let arguments = try Arguments(Array(words.dropFirst()), for: command)
      if arguments.has("help") {
        try Output.write(help(of: command))
        return 0
      }
      if let seconds = try arguments.integer("wait") { LockWait.policy.timeout = Double(seconds) }
      return try command.run(arguments)
    }
  }

  private static func writeVersion(asJSON: Bool) throws {
    let cipher = try? Connection.libraryVersion()
    guard !asJSON else {
      return try Output.json([
        "version": version, "cipherVersion": cipher as Any? ?? NSNull(), "debugBuild": isDebugBuild,
      ])
    }
    let library = cipher.map { "SQLCipher \($0)" } ?? "no SQLCipher"
    try Output.write("aware-notification \(version) (\(library)\(isDebugBuild ? ", debug build" : ""))\n")
  }

  /// Whether this program was compiled without optimization, and so is slower than it could be.
  private static var isDebugBuild: Bool {
    var isDebug = false
    func note() -> Bool {
      isDebug = true
      return true
    }
    // Optimized code leaves assertions out.
    assert(note())
    return isDebug
  }

  private static var help: String {
    """
    usage: aware-notification COMMAND --db PATH [--key-file FILE | --key-fd N] [OPTION...]

    An encrypted store for the pushes that a study's participants see.

    \(commands.map { "  \($0.name.padded(to: 10)) \($0.summary)" }.joined(separator: "\n"))

    aware-notification help COMMAND tells more of each; --version [--json] prints the version.
    The key comes from a file, a descriptor or a question on the terminal, never from the command line.
    Where a file is read or written once, - is standard input or output, and ./- a file of that name.
    Exit status: 0 done, 1 failed, 2 called wrongly, 130 or 143 when SIGINT (Ctrl-C) or SIGTERM ended it.

    """
  }

  private static func help(of command: any Command.Type) -> String {
    let lines = (command.options + [.help]).map { option in
      let name = "--\(option.name)" + (option.value.map { " \($0)" } ?? "")
      return "  \(name.padded(to: 24)) \(option.help)"
    }
    return """
      usage: aware-notification \(command.name) \(command.usage)

      \(command.details)

      \(lines.joined(separator: "\n"))

      """
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}
