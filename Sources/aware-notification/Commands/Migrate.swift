import EncryptedSQLite
import NotificationStore

enum Migrate: Command {
  static let name = "migrate"
  static let summary = "bring a store to the current jsonVersion"
  static let usage =
    "--db PATH [--key-file FILE | --key-fd N] [--cipher [--page-size N] [--kdf-iterations N]] [--dry-run] [--json]"
  static let details = """
    Applies the steps that the store lacks, one transaction each, and prints each. Safe to interrupt and to repeat.

    --cipher first brings a file that an older SQLCipher wrote to the format of this one, by a verified copy that takes
    its place; nobody else may have it open then. A file with another page size or number of rounds than its
    generation's defaults is opened with --page-size and --kdf-iterations.
    """
  static let options =
    Option.store + [
      Option(name: "cipher", help: "bring the file to this SQLCipher's format")
    ] + Option.cipherSettings + [Option(name: "dry-run", help: "print the steps, and change nothing"), .json]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let isDryRun = arguments.has("dry-run")
    let migrator = SchemaMigrator()
    let path = try arguments.required("db")
    let key = try arguments.key()
    let upgrade = try upgradeCipher(arguments, path, key, isDryRun)
    let connection = try Connection.open(
      path, key: key,
      options: .init(access: isDryRun ? .readOnly : .readWrite, synchronous: .full))
    let before = try migrator.version(of: connection)
    let steps = try isDryRun ? migrator.pending(on: connection) : migrator.migrate(connection)
    let after = try migrator.version(of: connection)
    try connection.close()
    if arguments.has("json") {
      let list = steps.map { ["jsonVersion": $0.version, "name": $0.name, "sha256": $0.sha256] as [String: Any] }
      var object: [String: Any] = ["from": before, "jsonVersion": after, "dryRun": isDryRun, "steps": list]
      if let upgrade { object["cipher"] = ["from": upgrade.from, "fileFormat": upgrade.generation] }
      try Output.json(object)
    } else {
      if let upgrade { try Output.write("file format \(upgrade.from) became \(upgrade.generation)\n") }
      for step in steps {
        try Output.write(
          "\(isDryRun ? "would apply" : "applied") v\(step.version) \(step.name) (sha256 \(step.sha256))\n")
      }
      if steps.isEmpty { try Output.write("nothing to do: jsonVersion \(after) is current\n") }
    }
    return 0
  }

  private static func upgradeCipher(
    _ arguments: Arguments, _ path: String, _ key: EncryptionKey, _ isDryRun: Bool
  ) throws -> CipherUpgradeReport? {
    let settings = try arguments.cipherSettings()
    guard arguments.has("cipher") else {
      guard settings == nil else {
        throw UsageError("--page-size and --kdf-iterations go with --cipher")
      }
      return nil
    }
    guard !isDryRun else { throw UsageError("--cipher has no dry run: status tells the file's format") }
    return try Database.upgradeCipher(of: path, key: key, settings: settings ?? .init())
  }
}
