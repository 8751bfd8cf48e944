import EncryptedSQLite
import Foundation
import NotificationStore

enum Token: Command {
  static let name = "token"
  static let summary = "store a device token, as APNs gives it"
  static let usage =
    "--db PATH [--key-file FILE | --key-fd N] [--previous-key-file FILE] [--label TEXT] [--broadcasts] [TOKEN]"
  static let details = """
    TOKEN is the device token in hexadecimal; without it, or for -, it is read from standard input. The store is made
    when it is absent.
    """
  static let options =
    Option.storeWithSpool + [Option(name: "label", value: "TEXT", help: "the label of the record"), .broadcasts]
  static let maximumOperands = 1
  static let readsStandardInput = true
  /// In bytes. Apple fixes no length; tokens have 32 to 160 bytes so far.
  private static let longest = 1024

  static func run(_ arguments: Arguments) throws -> Int32 {
    let path = try arguments.required("db")
    let key = try arguments.key(making: path)
    let previousKey = try arguments.previousKey()
    let text = try token(arguments)
    let session = try SensorSession(
      path: path, key: key, previousKey: previousKey, label: arguments.value("label") ?? "",
      showsBroadcasts: arguments.has("broadcasts"))
    try session.whileOpen {
      try session.do { $0.setDeviceToken(text, finish: $1) }
    }
    try Output.write("the token is stored\n")
    return 0
  }

  private static func token(_ arguments: Arguments) throws -> String {
    var text = arguments.operands.first ?? "-"
    if text == "-" { text = readLine() ?? "" }
    text = text.trimmingCharacters(in: .whitespaces).lowercased()
    guard !text.isEmpty, text.utf8.count <= 2 * longest, text.utf8.count % 2 == 0,
      text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit })
    else { throw UsageError("the token is not an even number of hexadecimal digits") }
    return text
  }
}
