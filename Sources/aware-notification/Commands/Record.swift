import CCommandLine
import EncryptedSQLite
import Foundation
import NotificationStore
import com_awareframework_ios_sensor_notification

enum Record: Command {
  static let name = "record"
  static let summary = "store pushes from JSON lines"
  static let usage =
    "--db PATH [--key-file FILE | --key-fd N] [--host HOST] [OPTION...] [FILE]"
  static let details = """
    Reads FILE, or standard input: a line (up to 1 MiB) is an APNs payload, or an object with payload and, as far as
    they are known, id (the request's identifier), receivedAt (Unix milliseconds) and bundle (the receiving app).
    Visible pushes become notifications, background pushes silent pushes. The same line again adds nothing where it
    has id and receivedAt. The store is made when it is absent.

    A command in a background push (aware_command) is reported as "command NAME". With --host, and the options of sync
    that go with it, the command sync sends what is stored: "synced" tells that all was sent. Nothing more is done about
    commands.

    After each commit it prints "committed N": every line up to N that could be read is on the disk. A bad line is
    reported with its number (the first twenty are), the rest goes on, and the exit status is 1; so it is when a sync
    failed.
    """
  static let options =
    Option.storeWithSpool + [
      Option(name: "label", value: "TEXT", help: "the label of the records"),
      Option(name: "bundle", value: "ID", help: "the app, where the line does not say"),
      .broadcasts,
    ] + Option.upload
  static let maximumOperands = 1
  static let readsStandardInput = true
  /// Few enough that little is done again after a kill, many enough that the sync to disk does not count.
  private static let linesInCommit = 500
  /// In bytes: what waits for a commit is in memory.
  private static let mostInCommit = 4 << 20

  static func run(_ arguments: Arguments) throws -> Int32 {
    let path = try arguments.required("db")
    let upload = arguments.has("host") ? try Upload(arguments) : nil
    if upload == nil, let option = Option.upload.first(where: { arguments.has($0.name) }) {
      throw UsageError("--\(option.name) goes with --host")
    }
    // Before the input is opened, which might get the very descriptor that --key-fd names.
    let key = try arguments.key(making: path)
    let previousKey = try arguments.previousKey()
    let input = try openInput(arguments.operands.first)
    let session = try SensorSession(
      path: path, key: key, previousKey: previousKey, label: arguments.value("label") ?? "",
      showsBroadcasts: arguments.has("broadcasts"), upload: upload)
    let spool = NotificationSpool(besideStore: try FileSystem.absolute(path))
    var alreadySpooled = 0
    // A wrong key or a store that is not one shows before the first line is read.
    let status = try session.whileOpen {
      command_line_catch_interrupts()
      // What the opening could not import.
      alreadySpooled = spool.count()
      var run = Run(
        session: session, bundle: arguments.value("bundle") ?? "", name: arguments.operands.first ?? "standard input")
      try run.readAll(LineReader(input) { command_line_interrupt() != 0 })
      let areSyncsComplete = session.finishSyncs { command_line_interrupt() != 0 }
      let signal = command_line_interrupt()
      return signal != 0 ? 128 + signal : run.isFlawless && areSyncsComplete ? 0 : 1
    }
    let spooled = spool.count() - alreadySpooled
    guard spooled > 0 else { return status }
    Output.error(
      "\(spooled) pushes wait in the spool, for the store cannot be written: see that its disk has room and that no limit on "
        + "a file's size (ulimit -f) is in the way; the next record or sync imports them")
    return max(status, 1)
  }

  private static func openInput(_ path: String?) throws -> Int32 {
    guard let path, path != "-" else { return STDIN_FILENO }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileSystem.error("read", path, errno) }
    return descriptor
  }

  private struct Run {
    let session: SensorSession
    let bundle: String
    let name: String
    private var badLines = 0
    var isFlawless: Bool { badLines == 0 }
    private static let longestReport = 20
    private var number = 0
    private var waiting: [PushPayload] = []
    /// The bytes of the lines that wait.
    private var size = 0
    private var committed = 0

    init(session: SensorSession, bundle: String, name: String) {
      self.session = session
      self.bundle = bundle
      self.name = name
    }

    mutating func readAll(_ lines: LineReader) throws {
      defer { sumUp() }
      var lines = lines
      while true {
        switch lines.next() {
        case .text(let line):
          number += 1
          take(line)
        case .tooLong:
          number += 1
          report("this line is longer than \(LineReader.longestLine) bytes")
        case .failed(let reason):
          try commit()
          throw FileSystem.error("read", name, reason)
        case .end, .interrupted:
          try commit()
          return
        }
        // The next line may be as long as any.
        let isFull = number - committed >= linesInCommit || size > mostInCommit - LineReader.longestLine
        if isFull || !lines.isReady() { try commit() }
      }
    }

    private mutating func take(_ line: ArraySlice<UInt8>) {
      var line = line
      // A byte order mark, which some editors write.
      if number == 1, line.starts(with: [0xef, 0xbb, 0xbf]) { line = line.dropFirst(3) }
      let blanks: Set<UInt8> = [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r")]
      guard !line.allSatisfy(blanks.contains) else { return }
      do {
        waiting.append(try PushLine(line).push(bundle: bundle))
        size += line.count
      } catch let error as PushLine.Malformed {
        report(error.reason)
      } catch {
        report("this line cannot be read")
      }
    }

    private mutating func report(_ reason: String) {
      badLines += 1
      guard badLines <= Self.longestReport else { return }
      Output.error("\(name):\(number): \(reason): the line is left out, the rest goes on")
    }

    private func sumUp() {
      guard badLines > Self.longestReport else { return }
      Output.error("\(name): \(badLines) of \(number) lines were left out, the first of them named: check the file")
    }

    private mutating func commit() throws {
      guard number > committed else { return }
      do {
        if !waiting.isEmpty { try session.do { $0.handle(waiting, finish: $1) } }
      } catch let error as DatabaseError {
        throw DatabaseError(error.code, "what came after line \(committed) is not all stored: \(error.message)")
      }
      waiting.removeAll(keepingCapacity: true)
      size = 0
      committed = number
      try Output.write("committed \(number)\n")
    }
  }
}
