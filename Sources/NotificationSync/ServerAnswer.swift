import Foundation

/// The body of an answer, as far as it matters.
enum ServerAnswer: Sendable {
  enum Value: Sendable, Equatable {
    case boolean(Bool)
    case integer(Int)
    case text(String)
    case other
  }

  case empty
  /// A JSON object.
  case object([String: Value])
  /// JSON of another kind; for the refusals of AWARE's own servers, with their words.
  case json(String?)
  case html(isPHPError: Bool)
  case text(count: Int, isDisallowedKey: Bool)
  /// Longer than any acknowledgement.
  case cut

  init(_ response: HTTPResponse) {
    let body = response.body
    guard !response.isCut else {
      self = .cut
      return
    }
    guard !body.isEmpty else {
      self = .empty
      return
    }
    let text = String(decoding: body, as: UTF8.self)
    if let object = try? JSONDecoder().decode([String: Scalar].self, from: Data(body)) {
      self = .object(object.mapValues(\.value))
    } else if let list = try? JSONDecoder().decode([[String: Scalar]].self, from: Data(body)) {
      self = .json(list.first?["message"].flatMap { Self.known($0.value) })
    } else if (try? JSONSerialization.jsonObject(with: Data(body), options: [.fragmentsAllowed])) != nil {
      self = .json(nil)
    } else if text.contains("A PHP Error was encountered") {
      self = .html(isPHPError: true)
    } else if text.range(of: "<html", options: .caseInsensitive) != nil
      || text.range(of: "<!doctype", options: .caseInsensitive) != nil
    {
      self = .html(isPHPError: false)
    } else {
      self = .text(count: body.count, isDisallowedKey: text.hasPrefix("Disallowed Key Characters"))
    }
  }

  /// What came, for an error's text. The server's own words are given only where they are known beforehand: others may
  /// repeat what was sent.
  var kind: String {
    switch self {
    case .empty: "an empty body"
    case .object(let members): "JSON (\(Self.describe(members)))"
    case .json(let message?): "\"\(message)\""
    case .json(nil): "JSON of another shape"
    case .html(true): "a PHP error page"
    case .html(false): "an HTML page"
    case .text(_, isDisallowedKey: true): "\"Disallowed Key Characters\""
    case .text(let count, _): "\(count) bytes of text"
    case .cut: "more than \(HTTPResponse.longestBody >> 10) KiB"
    }
  }

  private static func describe(_ members: [String: Value]) -> String {
    let told = ["accepted", "duplicates", "inserted", "status", "success", "message", "error"].compactMap { name in
      members[name].map { "\(name): \(describe($0))" }
    }
    let others = members.count - told.count
    return (told + (others > 0 ? ["\(others) other members"] : [])).joined(separator: ", ")
  }

  private static func describe(_ value: Value) -> String {
    switch value {
    case .boolean(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .text(let text): known(.text(text)).map { "\"\($0)\"" } ?? "a text of \(text.count) characters"
    case .other: "something else"
    }
  }

  /// The words that AWARE's servers refuse with.
  private static func known(_ value: Value) -> String? {
    guard case .text(let text) = value else { return nil }
    let refusals = [
      "The study key is invalid.", "This study is not ongoing anymore.", "I don't know who you are.", "Not found", "ok",
      "success", "error", "failed",
    ]
    return refusals.contains(text) ? text : nil
  }

  private struct Scalar: Decodable {
    let value: Value

    init(from decoder: Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let value = try? container.decode(Bool.self) {
        self.value = .boolean(value)
      } else if let value = try? container.decode(Int.self) {
        self.value = .integer(value)
      } else if let value = try? container.decode(String.self) {
        self.value = .text(value)
      } else {
        value = .other
      }
    }
  }
}
