/// One subcommand.
protocol Command {
  static var name: String { get }
  /// One line for the list of commands.
  static var summary: String { get }
  /// What follows the command's name, such as `--db PATH [FILE]`.
  static var usage: String { get }
  /// The paragraphs below the usage line.
  static var details: String { get }
  static var options: [Option] { get }
  /// How many operands it takes at most.
  static var maximumOperands: Int { get }
  /// Whether it reads standard input where its operand is `-` or left out.
  static var readsStandardInput: Bool { get }

  /// Does the work and returns the exit status.
  ///
  /// - Throws: ``UsageError`` (exit 2), or any other error (exit 1).
  static func run(_ arguments: Arguments) throws -> Int32
}

extension Command {
  static var maximumOperands: Int { 0 }
  static var readsStandardInput: Bool { false }
}

/// A long option.
struct Option {
  let name: String
  /// The placeholder of its value; nil for a switch.
  var value: String?
  /// Whether it may be given more than once.
  var repeats = false
  /// What its value is a path of; nil for another value.
  var file: File?
  /// Which stream `-` means for that; nil: it has to be a file.
  var stream: Stream?
  let help: String

  enum File {
    case ordinary
    /// One that holds a key.
    case secret
  }

  enum Stream {
    /// Standard input, for a file that is read once, from its beginning to its end.
    case input
    /// Standard output, for a file that is written once.
    case output
  }
}

extension Option {
  static let help = Option(name: "help", help: "show this help")
  static let json = Option(name: "json", help: "print JSON, for programs")
  static let broadcasts = Option(name: "broadcasts", help: "print each broadcast that an app would get")
  static let database = Option(name: "db", value: "PATH", file: .ordinary, help: "the store")
  static let keyFile = Option(
    name: "key-file", value: "FILE", file: .secret, stream: .input,
    help: "read the key from FILE, which only you may read (-: standard input)")
  static let keyDescriptor = Option(name: "key-fd", value: "N", help: "read the key from file descriptor N")
  static let passphrase = Option(
    name: "passphrase", help: "the key is a passphrase, even where it resembles a raw key")
  static let previousKeyFile = Option(
    name: "previous-key-file", value: "FILE", file: .secret, stream: .input,
    help: "the key from before the last rotation, for what waits under it still")
  static func table(_ what: String) -> Option {
    Option(name: "table", value: "NAME", help: "\(what): ios_notification, ios_notification_token or ios_silent_push")
  }
  static let cipherSettings = [
    Option(name: "page-size", value: "N", help: "the page size that the file was written with"),
    Option(name: "kdf-iterations", value: "N", help: "the rounds of derivation that it was written with"),
  ]
  static let wait = Option(
    name: "wait", value: "SECONDS", help: "how long to wait for another program's lock on the store (60)")
  /// What every command on a store takes. Without a key option the key is asked for on the terminal.
  static let store = [database, keyFile, keyDescriptor, passphrase, wait]
  /// What every command takes that opens the store's spool.
  static let storeWithSpool = store + [previousKeyFile]
}

/// The command was called in a way that it does not understand.
struct UsageError: Error {
  let message: String
  init(_ message: String) { self.message = message }
}

/// A signal asked the program to end, and what was under way was undone.
struct Interruption: Error {
  let signal: Int32
}
