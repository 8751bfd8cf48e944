import EncryptedSQLite
import Foundation

extension Arguments {
  /// The key that the options name, or that the person types.
  func key() throws -> EncryptionKey {
    switch (value("key-file"), try integer("key-fd")) {
    case (let path?, nil): return try Self.readKeyFile(path)
    case (nil, let descriptor?): return try KeyFile.read(descriptor: Int32(clamping: descriptor))
    case (nil, nil): return try Self.askForKey()
    default: throw UsageError("give either --key-file or --key-fd")
    }
  }

  private static func readKeyFile(_ path: String) throws -> EncryptionKey {
    do {
      return try KeyFile.read(path)
    } catch let error as DatabaseError where error.code == .keyNotFound {
      // Its name is not repeated: it may be a key, given where a file's name belongs.
      throw DatabaseError(
        .keyNotFound, "there is no file of the name given with --key-file: make one with keygen, or check the name")
    }
  }

  private static func askForKey() throws -> EncryptionKey {
    let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard terminal >= 0 else {
      throw UsageError("there is no key and no terminal to ask for it: give --key-file or --key-fd")
    }
    defer { close(terminal) }
    var before = termios()
    guard tcgetattr(terminal, &before) == 0 else {
      throw UsageError("cannot ask for the key without showing it: give --key-file or --key-fd")
    }
    var silent = before
    silent.c_lflag &= ~tcflag_t(ECHO)
    tcsetattr(terminal, TCSAFLUSH, &silent)
    defer {
      tcsetattr(terminal, TCSAFLUSH, &before)
      _ = write(terminal, "\n", 1)
    }
    let prompt = "Key: "
    _ = write(terminal, prompt, prompt.utf8.count)
    // A terminal gives one line a read, so this reads the line that the person types.
    return try KeyFile.readLine(descriptor: terminal)
  }
}
