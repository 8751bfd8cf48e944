import EncryptedSQLite
import Foundation

/// The signature of an HTTP request (RFC 9421) by the algorithm `hmac-sha256` (section 3.3.3).
package struct MessageSignature: Sendable {
  /// The covered components in their order: a derived component's name such as `@path`, or a field's in lower case, and
  /// its value.
  package var components: [(name: String, value: String)]
  /// The parameters in their order; values as they are serialised, strings with their quotes.
  package var parameters: [(name: String, value: String)]

  package init(components: [(name: String, value: String)], parameters: [(name: String, value: String)]) {
    self.components = components
    self.parameters = parameters
  }

  /// "The signature base is … the concatenation of … the signature parameters" (section 2.3): the member's value of
  /// `Signature-Input`.
  package var input: String {
    "(" + components.map { "\"\($0.name)\"" }.joined(separator: " ") + ")"
      + parameters.map { ";\($0.name)=\($0.value)" }.joined()
  }

  /// The text that is signed (section 2.5): a line a component, and the parameters last, without a line feed after it.
  package var base: String {
    components.map { "\"\($0.name)\": \($0.value)\n" }.joined() + "\"@signature-params\": \(input)"
  }

  /// The member's value of `Signature`: the code in base64 between colons (RFC 8941, section 3.3.5).
  package func value(_ key: SigningKey) -> String {
    ":\(Data(key.authenticationCode(of: Array(base.utf8))).base64EncodedString()):"
  }

  /// A string of structured fields (RFC 8941, section 3.3.3): `"` and `\` with a backslash before them.
  package static func quoted(_ text: String) -> String {
    "\"" + text.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"") + "\""
  }
}
