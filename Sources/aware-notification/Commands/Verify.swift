import NotificationStore

enum Verify: Command {
  static let name = "verify"
  static let summary = "check cipher, every page, schema and ledger"
  static let usage = "--db PATH [--key-file FILE | --key-fd N] [--previous-key-file FILE] [--json]"
  static let details = """
    Reads every page, the free ones too, and holds log, schema, upload ledger, identities and the spool's files against
    what they must be. Prints a line for each check (ok, FAULT or skipped), with at most twenty faults and nothing of the
    content, and changes nothing. The exit status is 1 when anything is wrong.
    """
  static let options = Option.storeWithSpool + [.json]

  static func run(_ arguments: Arguments) throws -> Int32 {
    let path = try arguments.required("db")
    let report = try StoreVerification(
      path: path, key: try arguments.key(), previousKey: try arguments.previousKey())
    if arguments.has("json") {
      let checks = report.checks.map { check in
        ["name": check.name, "result": result(check), "detail": check.detail, "faults": check.faults] as [String: Any]
      }
      var object: [String: Any] = ["sound": report.isSound, "checks": checks]
      object["nextStep"] = report.nextStep
      try Output.json(object)
    } else {
      for check in report.checks {
        let text = check.faults.isEmpty ? check.detail : check.faults.joined(separator: "; ")
        try Output.write("\(check.name): \(result(check)): \(text.escapingControls)\n")
      }
      if let step = report.nextStep { Output.error("\(path) has faults: \(step)") }
    }
    return report.isSound ? 0 : 1
  }

  private static func result(_ check: StoreVerification.Check) -> String {
    check.isSkipped ? "skipped" : check.faults.isEmpty ? "ok" : "FAULT"
  }
}
