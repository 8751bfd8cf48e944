import Foundation

/// The text form of certificates (RFC 7468).
enum PEM {
  /// The certificates in a file's text, DER, in their order. What stands between them is passed over.
  ///
  /// nil when there is none, or one is cut short or not base64: a bundle that is half understood trusts others than it
  /// says.
  static func certificates(in text: String) -> [Data]? {
    var found: [Data] = []
    var base64: String?
    for line in text.split(whereSeparator: \.isNewline) {
      let line = line.trimmingCharacters(in: .whitespaces)
      switch line {
      case "-----BEGIN CERTIFICATE-----":
        guard base64 == nil else { return nil }
        base64 = ""
      case "-----END CERTIFICATE-----":
        guard let text = base64, !text.isEmpty, let bytes = Data(base64Encoded: text) else { return nil }
        found.append(bytes)
        base64 = nil
      default:
        base64?.append(line)
      }
    }
    return base64 == nil && !found.isEmpty ? found : nil
  }
}
