import EncryptedSQLite
import Foundation
import NotificationStore
import TestSupport
import Testing

@testable import NotificationSync

/// What is read back is read by Foundation, which has no part in the writing.
@Suite("A batch's encoder") struct BatchEncoderTests {
  private static let texts = [
    "", "plain", "eight ch", "123456789", "quote \" backslash \\ slash /", "tab\tnewline\nreturn\r", "null\u{0}byte",
    "\u{1}\u{8}\u{c}\u{1f}\u{7f}", "+ & = % ; %00 \\u0041", "😀 family 👨‍👩‍👧", "עברית مرحبا", "日本語の通知です", "e\u{301} é",
    "\u{2028}\u{2029}\u{feff}", String(repeating: "\"", count: 9000), String(repeating: "日本", count: 5000),
    String(repeating: "a", count: 4095) + "é", String(repeating: "a", count: 4091) + "é😀",
  ]

  /// Encodes rows of (id, text, number) that SQLite gives.
  private func encode(
    _ sql: String, _ format: BatchFormat, columns: [String] = ["text", "number"], byteLimit: Int = .max,
    deviceId: String = "device \"1\"", bind: [SQLValue] = []
  ) throws -> (outcomes: [BatchEncoder.Outcome], body: [UInt8]) {
    let folder = TemporaryFolder()
    _ = try Database.create(folder.path("db"), key: Keys.raw) { _ in }
    let connection = try Connection.open(folder.path("db"), key: Keys.raw)
    defer { try? connection.close() }
    let encoder = BatchEncoder(
      format, table: "the_table", columns: columns, deviceId: deviceId, time: 123, byteLimit: byteLimit)
    var outcomes: [BatchEncoder.Outcome] = []
    try connection.withStatement(sql) { row in
      for (index, value) in bind.enumerated() {
        switch value {
        case .text(let text): row.bind(text, at: Int32(index + 1))
        case .integer(let number): row.bind(number, at: Int32(index + 1))
        default: row.bindNull(at: Int32(index + 1))
        }
      }
      while try row.step() { outcomes.append(encoder.add(row)) }
    }
    return (outcomes, encoder.finish())
  }

  private let rows = BatchFormat(body: .rows, hasID: true, isExtended: true)
  private let columnwise = BatchFormat(body: .columns, hasID: true, isExtended: true)
  private let form = BatchFormat(body: .form, hasID: true, isExtended: false)

  private func json(_ bytes: [UInt8]) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
  }

  /// The fields of a form, decoded as PHP does it.
  private func fields(_ body: [UInt8]) -> [String: String] {
    let text = String(decoding: body, as: UTF8.self)
    return Dictionary(
      uniqueKeysWithValues: text.split(separator: "&").map { field in
        let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (
          String(parts[0]), parts[1].replacingOccurrences(of: "+", with: " ").removingPercentEncoding ?? "<not decoded>"
        )
      })
  }

  @Test("writes rows as a JSON server reads them, every text as it was", arguments: texts) func rows(_ text: String)
    throws
  {
    let (outcomes, body) = try encode(
      "SELECT 7, ?1, -12 UNION ALL SELECT 8, NULL, 9223372036854775807", rows, bind: [.text(text)])
    #expect(outcomes == [.added, .added])
    let object = try json(body)
    #expect(Set(object.keys) == ["deviceId", "data", "tableName", "timestamp"])
    #expect(object["deviceId"] as? String == "device \"1\"")
    #expect(object["tableName"] as? String == "the_table")
    #expect(object["timestamp"] as? Int == 123)
    let data = try #require(object["data"] as? [[String: Any]])
    #expect(data.count == 2)
    #expect((data[0]["text"] as? String).map { Array($0.utf8) } == Array(text.utf8))
    #expect(data[0]["id"] as? Int == 7 && data[0]["number"] as? Int == -12)
    #expect(data[1]["text"] is NSNull && data[1]["number"] as? Int64 == .max)
  }

  @Test("leaves the id out where the server has no place for it") func withoutID() throws {
    let (_, body) = try encode("SELECT 7, 'a', 1", BatchFormat(body: .rows, hasID: false, isExtended: true))
    #expect(
      String(decoding: body, as: UTF8.self)
        == #"{"deviceId":"device \"1\"","data":[{"text":"a","number":1}],"tableName":"the_table","timestamp":123}"#)
  }

  @Test("writes columns of one length, nulls included", arguments: texts) func columns(_ text: String) throws {
    let (_, body) = try encode("SELECT 7, ?1, 1 UNION ALL SELECT 8, NULL, 2", columnwise, bind: [.text(text)])
    let data = try #require(try json(body)["data"] as? [String: [Any]])
    #expect(data["id"] as? [Int] == [7, 8])
    #expect((data["text"]?[0] as? String).map { Array($0.utf8) } == Array(text.utf8))
    #expect(data["text"]?[1] is NSNull)
    #expect(data["number"] as? [Int] == [1, 2])
  }

  @Test("writes a form whose JSON survives a server that looks for %00 once more", arguments: texts)
  func forms(_ text: String) throws {
    let (_, body) = try encode("SELECT 7, ?1, 1", form, deviceId: "a&b=c+d %", bind: [.text(text)])
    let raw = String(decoding: body, as: UTF8.self)
    #expect(raw.hasPrefix("device_id=a%26b%3Dc%2Bd%20%25&data=%5B%7B"))
    let allowed = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%&=")
    #expect(raw.unicodeScalars.allSatisfy(allowed.contains))
    let data = try #require(fields(body)["data"])
    #expect(!data.contains("%"))
    let rows = try #require(try JSONSerialization.jsonObject(with: Data(data.utf8)) as? [[String: Any]])
    #expect((rows[0]["text"] as? String).map { Array($0.utf8) } == Array(text.utf8))
  }

  @Test("writes numbers exactly", arguments: [0, 1, -1, 9, 10, 99, 1_764_460_861_000, Int64.max, Int64.min])
  func numbers(_ number: Int64) throws {
    let (_, body) = try encode("SELECT 1, 'a', ?1", rows, bind: [.integer(number)])
    #expect(String(decoding: body, as: UTF8.self).contains(#""number":\#(number)}"#))
  }

  @Test(
    "passes over a row that is no JSON, and leaves nothing of it behind",
    arguments: [
      "CAST(x'ff' AS TEXT)", "CAST(x'c3' AS TEXT)", "CAST(x'c0af' AS TEXT)", "CAST(x'eda080' AS TEXT)",
      "CAST(x'f4908080' AS TEXT)", "CAST(x'6161616161616161e282' AS TEXT)", "CAST(x'80' AS TEXT)", "x'00'", "9e999",
      "CAST(x'f09f98' AS TEXT)", "CAST(x'f8888080' AS TEXT)", "CAST(x'e08080' AS TEXT)",
    ])
  func impossible(_ value: String) throws {
    for format in [rows, columnwise, form] {
      for first in ["SELECT 1, 'a', 1 UNION ALL ", ""] {
        let sql = "\(first)SELECT 2, \(value), 2 UNION ALL SELECT 3, 'b', 3"
        let (outcomes, body) = try encode(sql, format)
        let expected = try encode(sql.replacingOccurrences(of: "SELECT 2, \(value), 2 UNION ALL ", with: ""), format)
        guard case .impossible(let reason) = outcomes[first.isEmpty ? 0 : 1] else {
          Issue.record("\(value) was written")
          continue
        }
        #expect(reason.hasPrefix("text "))
        #expect(body == expected.body)
      }
    }
  }

  @Test("stops at its limit of bytes, exactly, and takes a single row whatever its size") func limit() throws {
    let sql = "SELECT 1, 'aaaaaaaa%', 1 UNION ALL SELECT 2, 'bbbbbbbb', 2 UNION ALL SELECT 3, 'c', 3"
    for format in [rows, form] {
      let two = try encode("SELECT 1, 'aaaaaaaa%', 1 UNION ALL SELECT 2, 'bbbbbbbb', 2", format).body
      let (exact, body) = try encode(sql, format, byteLimit: two.count)
      #expect(exact == [.added, .added, .full] && body == two)
      #expect(try encode(sql, format, byteLimit: two.count - 1).outcomes[1] == .full)
      #expect(try encode(sql, format, byteLimit: 1).outcomes == [.added, .full, .full])
    }
    // Column by column the size is an upper bound.
    let (outcomes, body) = try encode(sql, columnwise, byteLimit: 300)
    #expect(outcomes.first == .added && body.count <= 300)
  }

  @Test("sends a PHP server exactly the public sensor's columns, unless told otherwise") func publicColumns() throws {
    let table = UploadTable.all[0]
    #expect(
      form.columns(of: table) == [
        "timestamp", "deviceId", "label", "timezone", "os", "jsonVersion", "notificationId", "title", "body",
        "categoryIdentifier", "bundleIdentifier", "sound", "badge", "threadIdentifier", "interruptionLevel",
      ])
    #expect(
      Set(rows.columns(of: table)).subtracting(form.columns(of: table)) == ["recordId", "timezoneOffset", "source"])
    let silent = UploadTable.all[2]
    #expect(
      Set(rows.columns(of: silent)).subtracting(form.columns(of: silent)) == ["recordId", "timezoneOffset", "pushId"])
    #expect(
      Set(rows.columns(of: table)).subtracting(columnwise.columns(of: table)) == [
        "os", "jsonVersion", "deviceId", "timezone",
      ])
  }
}
