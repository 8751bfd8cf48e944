import EncryptedSQLite
import NotificationStore

enum Migrate: Command {
  static let name = "migrate"
  static let summary = "bring a store to the current jsonVersion"
  static let usage = "--db PATH [--key-file FILE | --key-fd N] [--dry-run] [--json]"
  static let details = """
    Applies the steps that the store lacks, one transaction each, and prints each. Safe to interrupt and to repeat.
    """
  static let options =
    Option.store + [Option(name: "dry-run", help: "print the steps, and change nothing"), .json]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let isDryRun = arguments.has("dry-run")
    let migrator = SchemaMigrator()
    let connection = try Connection.open(
      try arguments.required("db"), key: try arguments.key(),
      options: .init(access: isDryRun ? .readOnly : .readWrite, synchronous: .full))
    let before = try migrator.version(of: connection)
    let steps = try isDryRun ? migrator.pending(on: connection) : migrator.migrate(connection)
    let after = try migrator.version(of: connection)
    try connection.close()
    if arguments.has("json") {
      let list = steps.map { ["jsonVersion": $0.version, "name": $0.name, "sha256": $0.sha256] as [String: Any] }
      try Output.json(["from": before, "jsonVersion": after, "dryRun": isDryRun, "steps": list] as [String: Any])
    } else {
      for step in steps {
        try Output.write(
          "\(isDryRun ? "would apply" : "applied") v\(step.version) \(step.name) (sha256 \(step.sha256))\n")
      }
      if steps.isEmpty { try Output.write("nothing to do: jsonVersion \(after) is current\n") }
    }
    return 0
  }
}
