import EncryptedSQLite
import Testing

/// A text with a name of its own, so that a test's name need not hold it.
public struct NamedText: Sendable, CustomTestStringConvertible {
  public let testDescription: String
  public let text: String

  public init(_ name: String, _ text: String) { (testDescription, self.text) = (name, text) }
}

extension Keys {
  private static let digits = String(rawText.dropFirst(2).dropLast())

  /// Texts that are almost ``rawText`` or ``saltedText``, and that SQLCipher takes for passphrases.
  public static let nearRaw: [NamedText] = [
    NamedText("a blank before", " " + rawText), NamedText("a blank behind", rawText + " "),
    NamedText("a tab behind", saltedText + "\t"), NamedText("a line end before", "\n" + rawText),
    NamedText("two line ends behind", rawText + "\r\n\n"), NamedText("a byte order mark", "\u{feff}" + rawText),
    NamedText("quotes around", "\"\(rawText)\""), NamedText("single quotes around", "'\(rawText)'"),
    NamedText("backticks around", "`\(saltedText)`"), NamedText("no last quote", String(rawText.dropLast())),
    NamedText("cut short", String(rawText.prefix(42))), NamedText("digits alone", digits),
    NamedText("digits in upper case", digits.uppercased()),
    NamedText("digits with their salt", String(saltedText.dropFirst(2).dropLast())),
    NamedText("digits on two lines", digits.prefix(60) + "\n" + digits.suffix(4)),
    NamedText("no quotes", "x" + digits), NamedText("0x", "0x" + digits), NamedText("double quotes", "x\"\(digits)\""),
    NamedText("typographic quotes", "x‘\(digits)’"), NamedText("no first quote", "x\(digits)'"),
    NamedText("UTF-16", rawText.map { "\($0)\0" }.joined()),
  ]
}
