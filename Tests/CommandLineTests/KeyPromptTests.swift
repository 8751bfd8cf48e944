import Foundation
import TestSupport
import Testing

/// The key, asked for on a terminal of the program's own.
@Suite struct KeyPromptTests {
  private struct Session: Decodable {
    let output: String
    /// The exit status, or minus the number of the signal that ended the program.
    let status: Int32
    /// Whether the terminal showed what is typed, at each step and after the end.
    let echo: [Bool]
  }

  /// Runs the program; at each step waits until it prints the first text, then types the second, or sends a signal.
  private func run(_ arguments: [String], _ steps: [[String]]) throws -> Session {
    let script = """
      import fcntl, json, os, select, signal, sys, termios
      # What this test was started with is not what a person's shell gives.
      for number in [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM]:
          signal.signal(number, signal.SIG_DFL)
      # Neither end waits for ever for the other.
      signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
      signal.alarm(60)
      # Its own end is held open, so that its settings outlive the program.
      terminal, own = os.openpty()
      pid = os.fork()
      if pid == 0:
          signal.alarm(60)
          os.setsid()
          fcntl.ioctl(own, termios.TIOCSCTTY, 0)
          for descriptor in range(3):
              os.dup2(own, descriptor)
          os.execv(sys.argv[2], sys.argv[2:])
      seen, echo, status = b"", [], None
      def shows():
          echo.append(bool(termios.tcgetattr(own)[3] & termios.ECHO))
      for expected, action in json.loads(sys.argv[1]):
          while expected.encode() not in seen:
              seen += os.read(terminal, 1000)
          shows()
          if action.startswith("signal "):
              os.kill(pid, int(action.split()[1]))
          else:
              os.write(terminal, action.encode())
      while status is None:
          ended = os.waitpid(pid, os.WNOHANG)
          if ended[0]:
              status = os.waitstatus_to_exitcode(ended[1])
          while select.select([terminal], [], [], 0.01)[0]:
              seen += os.read(terminal, 1000)
      shows()
      print(json.dumps({"output": seen.decode(), "status": status, "echo": echo}))
      """
    let json = String(decoding: try JSONEncoder().encode(steps), as: UTF8.self)
    let result = try Program.run("/usr/bin/python3", ["-c", script, json, Program.tool] + arguments)
    return try JSONDecoder().decode(Session.self, from: Data(result.output.utf8))
  }

  @Test func theKeyIsAskedForWithoutEcho() throws {
    let study = Study(key: "words for the prompt")
    try study.run("init")
    let session = try run(["status", "--db", study.database], [["Key: ", "words for the prompt\n"]])
    #expect(session.status == 0 && session.output.contains("jsonVersion: 2"))
    #expect(!session.output.contains("words") && !session.output.contains("again"))
    #expect(session.echo == [false, true])
  }

  /// Ctrl-C as a person types it, and signals from elsewhere.
  @Test(arguments: [
    ("\u{3}", SIGINT), ("\u{1c}", SIGQUIT), ("signal \(SIGINT)", SIGINT), ("signal \(SIGTERM)", SIGTERM),
    ("signal \(SIGHUP)", SIGHUP),
  ])
  func aSignalAtThePromptGivesTheTerminalBack(action: String, signal: Int32) throws {
    let study = Study()
    let session = try run(["init", "--db", study.database], [["Key: ", action]])
    #expect(session.status == -signal)
    #expect(session.echo == [false, true])
    #expect(study.folder.names == ["study.key"])
  }

  @Test(arguments: ["init", "record"]) func theKeyOfANewStoreIsTypedTwice(command: String) throws {
    let study = Study(key: "words")
    let arguments = [command, "--db", study.database] + (command == "init" ? [] : ["/dev/null"])
    let slip = try run(arguments, [["Key: ", "words\n"], ["Key again: ", "wards\n"]])
    #expect(slip.status == 1 && slip.output.contains("the two keys differ"))
    #expect(study.folder.names == ["study.key"])
    let made = try run(arguments, [["Key: ", "words\n"], ["Key again: ", "words\n"]])
    #expect(made.status == 0 && !made.output.contains("words"))
    #expect(slip.echo == [false, false, true] && made.echo == slip.echo)
    #expect(try study.run("verify").status == 0)
    // Once it exists, once is enough.
    #expect(try run(["record", "--db", study.database, "/dev/null"], [["Key: ", "words\n"]]).status == 0)
  }
}
