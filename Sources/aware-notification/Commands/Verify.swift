import NotificationStore

enum Verify: Command {
  static let name = "verify"
  static let summary = "check cipher, every page, schema and ledger"
  static let usage = "--db PATH [--key-file FILE | --key-fd N] [--previous-key-file FILE] [--json]"
  static let details = """
    Reads every page, the free ones too, and holds log, schema, upload ledger, identities and the spool's files against
    what they must be. Prints a line a check, with at most twenty faults and nothing of the content, and changes nothing.
    The exit status is 1 when anything is wrong.
    """
  static let options = Option.storeWithSpool + [.json]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let report = try StoreVerification(
      path: try arguments.required("db"), key: try arguments.key(), previousKey: try arguments.previousKey())
    if arguments.has("json") {
      let checks = report.checks.map { ["name": $0.name, "detail": $0.detail, "faults": $0.faults] as [String: Any] }
      try Output.json(["sound": report.isSound, "checks": checks] as [String: Any])
    } else {
      for check in report.checks {
        let result = check.faults.isEmpty ? "ok: \(check.detail)" : "FAULT: \(check.faults.joined(separator: "; "))"
        try Output.write("\(check.name): \(result.escapingControls)\n")
      }
    }
    return report.isSound ? 0 : 1
  }
}
