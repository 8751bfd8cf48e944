import EncryptedSQLite
import Foundation

enum Keygen: Command {
  static let name = "keygen"
  static let summary = "make a key file"
  static let usage = "--key-file FILE [--with-salt | --signing]"
  static let details = """
    Writes a new random 256-bit key to FILE, which must not exist and which only you can read (mode 0600).
    Whoever has this file can read the store; without it nobody can. Keep a copy in a safe place.
    With --signing it is a key that signs uploads, for --signing-key-file here and for the receiver: 64 hexadecimal
    digits. The digits themselves are the key, not what they encode; the line end after them is not part of it.
    """
  static let options = [
    Option(
      name: "key-file", value: "FILE", file: .secret, stream: .output, help: "the file to make (-: standard output)"),
    Option(name: "with-salt", help: "a key with its salt, as a store with a readable header needs it"),
    Option(name: "signing", help: "a key that signs uploads, not one of a store"),
  ]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let path = try arguments.required("key-file")
    let (isSigning, isSalted) = (arguments.has("signing"), arguments.has("with-salt"))
    guard !isSigning || !isSalted else { throw UsageError("--with-salt and --signing make different keys") }
    if path == "-" {
      try isSigning ? KeyFile.withSigningKey(write) : EncryptionKey.random(salted: isSalted).withUnsafeBytes(write)
      return 0
    }
    if isSigning {
      try KeyFile.createSigningKey(path)
    } else {
      try KeyFile.create(path, .random(salted: isSalted))
    }
    try Output.write("\(path)\n")
    return 0
  }

  /// Without a copy of the key that would stay in memory.
  private static func write(_ key: UnsafeRawBufferPointer) throws {
    try FileSystem.write(key, to: STDOUT_FILENO, "standard output")
    try Output.write("\n")
  }
}
