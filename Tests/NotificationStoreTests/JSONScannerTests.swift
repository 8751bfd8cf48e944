import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@Suite struct JSONScannerTests {
  private func scanned(_ text: String) -> String? { Self.canonical(Array(text.utf8)) }

  @Test(arguments: [
    ("  1e400\t\r\n", "1e400"), ("-0.0E-0", "-0.0E-0"),
    ("123456789012345678901234567890", "123456789012345678901234567890"),
    (#""\ud83e\uDD7E""#, "'f09fa5be'"), (#""\ud83e""#, "'efbfbd'"), (#""\udd7e\ud83e""#, "'efbfbdefbfbd'"),
    (#""\ud83e\ud83e\udd7ex""#, "'efbfbdf09fa5be78'"), (#""\ud83e\n""#, "'efbfbd0a'"), (#""\u0000\/""#, "'002f'"),
    ("\"\u{feff}\"", "'efbbbf'"), (#"{"\ufeffa":1,"a":2}"#, "{'61':2,'efbbbf61':1}"),
    ("{\"\u{feff}a\":1,\"a\":2}", "{'61':2,'efbbbf61':1}"), (#"{"a":1,"b":[],"\u0061":{}}"#, "{'61':{},'62':[]}"),
    ("{\"\u{e9}\":1,\"e\u{301}\":2}", "{'65cc81':2,'c3a9':1}"), ("[true,false,null]", "[true,false,null]"),
  ])
  func readsWhatTheGrammarAllows(text: String, expected: String) {
    #expect(scanned(text) == expected)
  }

  @Test(arguments: [
    "", " ", "\u{feff}1", "1\u{feff}", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "NaN", "-Infinity", "tru",
    "nul",
    "[1,]", "[,1]", "[1 2]", "[", "]", "[}", "{", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "{a:1}", "{'a':1}", #"{1:2}"#,
    "\"",
    #""\"#, #""\x""#, #""\u12""#, #""\u12g4""#, #""\u+123""#, #""\ud800\u""#, "\"\t\"", "\"\u{0}\"", "1 1", "1,",
    "//\n1",
    "\u{a0}1", "\u{c}1",
  ])
  func refusesWhatItDoesNot(text: String) {
    #expect(scanned(text) == nil)
  }

  @Test(
    arguments: [
      [0x80], [0xc0, 0x80], [0xc1, 0xbf], [0xe0, 0x9f, 0xbf], [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf],
      [0xf0, 0x8f, 0xbf, 0xbf],
      [0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xff], [0xe2, 0x82], [0xf0, 0x9f, 0xa5], [0xe2, 0x28, 0xa1],
      [0xf0, 0x9f, 0xa5, 0x41],
    ] as [[UInt8]])
  func refusesWhatIsNotUTF8(bytes: [UInt8]) {
    #expect(Self.canonical([0x22] + bytes + [0x22]) == nil)
    #expect(Self.canonical([0x22] + bytes) == nil)
  }

  @Test func nestsTo512Levels() {
    func nested(_ depth: Int) -> String { String(repeating: #"[{"a":"#, count: depth / 2) + "[" }
    func text(_ depth: Int) -> String { nested(depth - 1) + "]" + String(repeating: "}]", count: (depth - 1) / 2) }
    #expect(scanned(text(511)) != nil)
    #expect(scanned("[" + text(511) + "]") != nil)
    #expect(scanned("[[" + text(511) + "]]") == nil)
    #expect(scanned(String(repeating: "[", count: 1_000_000)) == nil)
    #expect(scanned(String(repeating: #"{"":"#, count: 200_000)) == nil)
  }

  /// Ten thousand texts, half of them damaged: both accept the same ones, and read the same values.
  @Test func agreesWithPython() throws {
    var texts = Texts(generator: SeededGenerator(seed: 7))
    let samples = (0..<10_000).map { number in number % 2 == 0 ? texts.whole() : texts.damaged() }
    let ours = samples.map { Self.canonical($0) ?? "refused" }
    let result = try Program.run(
      Program.python, ["-c", Self.python], input: samples.map { Hexadecimal.text($0) + "\n" }.joined())
    #expect(result.status == 0, "\(result.errors)")
    let theirs = result.lines
    #expect(theirs.count == samples.count)
    let different = zip(samples, zip(ours, theirs)).filter { $1.0 != $1.1 }
    for (sample, values) in different.prefix(5) {
      Issue.record("\(String(decoding: sample, as: UTF8.self)): here \(values.0), in Python \(values.1)")
    }
    #expect(different.isEmpty)
    // Neither kind is rare.
    let refused = ours.count { $0 == "refused" }
    #expect((2_000...4_900).contains(refused), "\(refused) were refused")
  }

  /// The value in one form, for comparing; nil where the text is refused.
  private static func canonical(_ text: [UInt8]) -> String? {
    (try? JSONScanner.value(of: text[...])).map(canonical)
  }

  private static func canonical(_ value: JSONValue) -> String {
    switch value {
    case .null: return "null"
    case .bool(let value): return "\(value)"
    case .number(let text): return text
    case .text(let text): return quoted(text)
    case .array(let values): return "[" + values.map(canonical).joined(separator: ",") + "]"
    case .object(let members):
      let keys = Set(members.map { quoted($0.key) }).sorted()
      let last = Dictionary(members.map { (quoted($0.key), $0.key) }) { $1 }
      return "{" + keys.map { "\($0):" + canonical(members[last[$0]!]!.value) }.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String { "'" + Hexadecimal.text(Array(text.utf8)) + "'" }

  private static let python = """
    import json, re, sys

    class Number(str):
        pass

    def quoted(text):
        return "'" + re.sub("[\\ud800-\\udfff]", "\\ufffd", text).encode().hex() + "'"

    def canonical(value):
        if isinstance(value, Number): return str(value)
        if isinstance(value, str): return quoted(value)
        if isinstance(value, list): return "[" + ",".join(map(canonical, value)) + "]"
        if isinstance(value, dict): return "{" + ",".join(f"{key}:{canonical(value[key])}" for key in sorted(value)) + "}"
        return {None: "null", True: "true", False: "false"}[value]

    def refuse(text):
        raise ValueError

    for line in sys.stdin:
        try:
            value = json.loads(
                bytes.fromhex(line).decode(), parse_int=Number, parse_float=Number, parse_constant=refuse,
                object_pairs_hook=lambda pairs: {quoted(key): value for key, value in pairs})
            print(canonical(value))
        except ValueError:
            print("refused")
    """
}

/// JSON texts with all that the grammar has.
private struct Texts {
  var generator: SeededGenerator

  mutating func whole() -> [UInt8] { Array((blanks() + value(depth: 0) + blanks()).utf8) }

  /// One to three bytes replaced, left out, doubled or put in, or the end cut off.
  mutating func damaged() -> [UInt8] {
    var text = whole()
    for _ in 0..<Int.random(in: 1...3, using: &generator) where !text.isEmpty {
      let place = Int.random(in: 0..<text.count, using: &generator)
      let marks = Array(#"{}[]:,"\u0123456789eE+-.tfn/ "#.utf8) + [0, 0x1f, 0x80, 0xbf, 0xc3, 0xed, 0xf0, 0xff]
      switch Int.random(in: 0..<5, using: &generator) {
      case 0: text[place] = marks.randomElement(using: &generator)!
      case 1: text.remove(at: place)
      case 2: text.insert(text[place], at: place)
      case 3: text.insert(marks.randomElement(using: &generator)!, at: place)
      default: text.removeSubrange(place...)
      }
    }
    return text
  }

  private mutating func one(_ choices: [String]) -> String { choices.randomElement(using: &generator)! }

  private mutating func blanks() -> String { one(["", "", "", " ", "\t", "\r\n", "  "]) }

  private mutating func several(_ part: (inout Self) -> String) -> String {
    (0..<Int.random(in: 0...4, using: &generator)).map { _ in blanks() + part(&self) + blanks() }.joined(separator: ",")
  }

  private mutating func value(depth: Int) -> String {
    switch Int.random(in: 0..<(depth < 6 ? 8 : 5), using: &generator) {
    case 0: return one(["true", "false", "null"])
    case 1, 2: return number()
    case 3, 4: return text()
    case 5: return "[" + several { $0.value(depth: depth + 1) } + blanks() + "]"
    default:
      return "{" + several { $0.text() + $0.blanks() + ":" + $0.blanks() + $0.value(depth: depth + 1) } + blanks() + "}"
    }
  }

  private mutating func number() -> String {
    one(["", "-"]) + one(["0", "7", "10", "9007199254740993", "18446744073709551616"])
      + one(["", "", ".0", ".50", ".125"])
      + one(["", "", "e1", "E+400", "e-400", "E007"])
  }

  private mutating func text() -> String {
    let parts = [
      "a", "a", "b", "é", "e\u{301}", "\u{feff}", "🥾", "\u{fffd}", "\u{7f}", "\u{2028}", " ", "'", #"\""#, #"\\"#,
      #"\/"#,
      #"\n"#, #"\b\f\r\t"#, #"\u0061"#, #"\u0000"#, #"\ufeff"#, #"\uD83E\udd7e"#, #"\ud83e"#, #"\uDD7E"#,
      #"\uDBFF\uDFFF"#,
      #"\ud800\u0041"#, #"\u00e9"#, #"\uFFFE"#,
    ]
    return "\"" + (0..<Int.random(in: 0...4, using: &generator)).map { _ in one(parts) }.joined() + "\""
  }
}
