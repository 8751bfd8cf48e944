import CCommandLine
import Foundation

/// The options and operands of one subcommand, read by getopt_long.
struct Arguments {
  private var values: [String: [String]] = [:]
  private(set) var operands: [String] = []
  /// What getopt_long returns for the first option: above every character, which it returns for its own errors.
  private static let firstOption: Int32 = 256

  /// - Parameter arguments: what stands after the subcommand's name.
  init(_ arguments: [String], for command: any Command.Type) throws {
    let options = command.options + [.help]
    var words = ([command.name] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    let names = options.map { strdup($0.name) }
    defer { for name in names { free(name) } }
    var table = options.indices.map { index in
      CCommandLine.option(
        name: names[index], has_arg: options[index].value == nil ? no_argument : required_argument, flag: nil,
        val: Self.firstOption + Int32(index))
    }
    table.append(CCommandLine.option(name: nil, has_arg: 0, flag: nil, val: 0))

    command_line_restart()
    let count = Int32(words.count - 1)
    while true {
      let result = getopt_long(count, &words, ":", table, nil)
      if result == -1 { break }
      let word = words[max(1, Int(command_line_index()) - 1)].map { String(cString: $0) } ?? ""
      guard result >= Self.firstOption else {
        // Only the option's name: what follows it might be a secret.
        let name = word.hasPrefix("--") ? String(word.prefix { $0 != "=" }) : "-" + word.dropFirst().prefix(1)
        throw UsageError(
          result == Int32(UInt8(ascii: ":"))
            ? "\(name) needs a value" : "\(name) is not an option of \(command.name), and no option takes a key itself")
      }
      let option = options[Int(result - Self.firstOption)]
      // getopt takes any beginning of a name. Here that would make a file's name of a key after `--key`.
      let before = words[max(1, Int(command_line_index()) - 2)].map { String(cString: $0) } ?? ""
      guard word.hasPrefix("--\(option.name)") || before == "--\(option.name)" else {
        throw UsageError("write --\(option.name) in full, and note that no option takes a key itself")
      }
      guard values[option.name] == nil || option.repeats else { throw UsageError("--\(option.name) is given twice") }
      let value = command_line_argument().map { String(cString: $0) } ?? ""
      if let file = option.file {
        guard !Concealment.isKey(value) else {
          throw UsageError("--\(option.name) takes a path, and got what looks like a key: no option takes a key itself")
        }
        Output.conceal(Concealment(value, of: file, givenWith: "--\(option.name)"))
      }
      values[option.name, default: []].append(value)
    }
    operands = words[Int(command_line_index())..<Int(count)].compactMap { $0.map { String(cString: $0) } }
    for operand in operands { Output.conceal(Concealment(operand, of: .ordinary, givenWith: "the operand")) }
    guard operands.count <= command.maximumOperands || has("help") else {
      throw UsageError("\(command.name) takes \(command.maximumOperands == 0 ? "no" : "one") operand")
    }
    guard !has("help") else { return }
    if let index = arguments.firstIndex(of: "--passphrase"), let next = arguments[(index + 1)...].first,
      !next.hasPrefix("-")
    {
      // Not repeated: it may be the passphrase.
      throw UsageError("--passphrase takes no value, and no option takes a key: put an operand before it")
    }
    try checkFiles(options, command)
  }

  /// That each file has a name, and that of those which are read at most one is standard input.
  private func checkFiles(_ options: [Option], _ command: any Command.Type) throws {
    var inputs: [String] = []
    for option in options {
      guard option.file != nil, let value = value(option.name) else { continue }
      guard !value.isEmpty else { throw UsageError("--\(option.name) takes the name of a file") }
      guard value == "-" else { continue }
      switch option.stream {
      case .input: inputs.append("what --\(option.name) names")
      case .output: break
      case nil:
        throw UsageError("--\(option.name) takes a file, not standard input or output; a file of that name is ./-")
      }
    }
    if try integer("key-fd") == 0 { inputs.append("the key of --key-fd") }
    if command.readsStandardInput, (operands.first ?? "-") == "-" { inputs.append("the input of \(command.name)") }
    guard inputs.count < 2 else {
      throw UsageError("\(inputs[0]) and \(inputs[1]) cannot both come from standard input")
    }
  }

  func has(_ name: String) -> Bool { values[name] != nil }

  func value(_ name: String) -> String? { values[name]?.first }

  /// Every value of an option that may be repeated, in their order.
  func values(_ name: String) -> [String] { values[name] ?? [] }

  func required(_ name: String) throws -> String {
    guard let value = value(name) else { throw UsageError("--\(name) is missing") }
    return value
  }

  func integer(_ name: String) throws -> Int64? {
    guard let text = value(name) else { return nil }
    guard let number = Int64(text), number >= 0 else { throw UsageError("--\(name) takes a whole number") }
    return number
  }
}
