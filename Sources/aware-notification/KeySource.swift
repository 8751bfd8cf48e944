import CCommandLine
import EncryptedSQLite
import Foundation

extension Arguments {
  /// The key that the options name, or that the person types.
  ///
  /// - Parameter path: a store that may be made. For one that does not exist a person types the key twice: with a slip
  ///   in it nobody could open the store again.
  func key(making path: String? = nil) throws -> EncryptionKey {
    switch (value("key-file"), try integer("key-fd")) {
    case (let path?, nil): return try key(in: path)
    case (nil, let descriptor?):
      return try KeyFile.read(descriptor: Int32(clamping: descriptor), isPassphrase: isPassphrase)
    case (nil, nil): return try askForKey(twice: path.map { access($0, F_OK) != 0 } ?? false)
    default: throw UsageError("give either --key-file or --key-fd")
    }
  }

  /// The key that `--previous-key-file` names.
  func previousKey() throws -> EncryptionKey? { try key(inFileOf: "previous-key-file") }

  /// Another key, in the file that `option` names; nil without that.
  func key(inFileOf option: String) throws -> EncryptionKey? {
    try value(option).map { try key(in: $0) }
  }

  private func key(in path: String) throws -> EncryptionKey {
    try path == "-"
      ? KeyFile.read(descriptor: STDIN_FILENO, isPassphrase: isPassphrase)
      : KeyFile.read(path, isPassphrase: isPassphrase)
  }

  private var isPassphrase: Bool { has("passphrase") }

  private func askForKey(twice: Bool) throws -> EncryptionKey {
    let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard terminal >= 0 else {
      throw UsageError("there is no key and no terminal to ask for it: give --key-file or --key-fd")
    }
    defer { close(terminal) }
    guard command_line_hide_input(terminal) else {
      throw UsageError("cannot ask for the key without showing it: give --key-file or --key-fd")
    }
    defer { command_line_show_input() }
    let key = try read(terminal, "Key: ")
    guard try !twice || read(terminal, "Key again: ") == key else {
      throw DatabaseError(.invalidArgument, "the two keys differ, and no store was made: try again")
    }
    return key
  }

  private func read(_ terminal: Int32, _ prompt: String) throws -> EncryptionKey {
    _ = write(terminal, prompt, prompt.utf8.count)
    defer { _ = write(terminal, "\n", 1) }
    // A terminal gives one line a read, so this reads the line that the person types.
    return try KeyFile.readLine(descriptor: terminal, isPassphrase: isPassphrase)
  }
}
