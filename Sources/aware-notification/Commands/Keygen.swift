import EncryptedSQLite

enum Keygen: Command {
  static let name = "keygen"
  static let summary = "make a key file"
  static let usage = "--key-file FILE [--with-salt]"
  static let details = """
    Writes a new random 256-bit key to FILE, which must not exist and which only you can read (mode 0600).
    Whoever has this file can read the store; without it nobody can. Keep a copy in a safe place.
    """
  static let options = [
    Option(name: "key-file", value: "FILE", help: "the file to make"),
    Option(name: "with-salt", help: "a key with its salt, as a store with a readable header needs it"),
  ]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let path = try arguments.required("key-file")
    try KeyFile.create(path, .random(salted: arguments.has("with-salt")))
    try Output.write("\(path)\n")
    return 0
  }
}
