import EncryptedSQLite
import Foundation

/// Writes the rows of a statement into a request's body, straight from where SQLite holds them.
final class BatchEncoder {
  enum Outcome: Equatable {
    case added
    /// The batch has as many bytes as it may have; the row was not added.
    case full
    /// The row cannot be written as JSON, and why.
    case impossible(String)
  }

  private let format: BatchFormat
  private let byteLimit: Int
  private let columnNames: [String]
  /// What stands before the values, one after the other: `{"id":`, `,"timestamp":` and so on; without `{` for columns.
  private let keys = ByteBuffer()
  /// Where each of them ends.
  private let keyEnds: [Int]
  /// As large as most batches come out: growing would copy it again and again. What is not used is not touched.
  private let body = ByteBuffer(capacity: 1 << 20)
  /// One row before it is form-encoded.
  private let scratch = ByteBuffer()
  private let columns: [ByteBuffer]
  private let tail: [UInt8]
  private(set) var rowCount = 0

  /// - Parameters:
  ///   - columns: those that follow `id` in the statement.
  ///   - byteLimit: the most bytes of the body, unless its only row is longer.
  init(
    _ format: BatchFormat, table: String, columns: [String], deviceId: String, time: Int64, byteLimit: Int
  ) {
    self.format = format
    self.byteLimit = byteLimit
    columnNames = (format.hasID ? ["id"] : []) + columns
    keyEnds = columnNames.enumerated().map { [keys] index, name in
      keys.append(index > 0 ? "," : format.body == .columns ? "" : "{")
      keys.append("\"\(name)\":")
      return keys.count
    }
    keys.reserveShortest()
    self.columns = format.body == .columns ? columnNames.map { _ in ByteBuffer() } : []
    switch format.body {
    case .rows, .columns:
      body.append("{\"deviceId\":")
      Self.append(deviceId, to: body)
      body.append(format.body == .rows ? ",\"data\":[" : ",\"data\":{")
      let end = ByteBuffer(capacity: 128)
      end.append(format.body == .rows ? "],\"tableName\":" : "},\"tableName\":")
      Self.append(table, to: end)
      end.append(",\"timestamp\":")
      end.append(decimal: time)
      end.append("}")
      tail = Array(end.bytes)
    case .form:
      body.append("device_id=")
      Self.append(form: deviceId, to: body)
      body.append("&data=%5B")
      tail = Array("%5D".utf8)
    }
  }

  /// Adds the statement's current row: `id`, then the columns.
  func add(_ row: Statement) -> Outcome {
    switch format.body {
    case .rows:
      let before = body.count
      if rowCount > 0 { body.append(UInt8(ascii: ",")) }
      let outcome = write(row, to: body, percent: false)
      return settle(outcome, over: body.count + tail.count) { body.truncate(to: before) }
    case .form:
      scratch.truncate(to: 0)
      if rowCount > 0 { scratch.append(UInt8(ascii: ",")) }
      let outcome = write(row, to: scratch, percent: true)
      guard outcome == .added else { return outcome }
      let before = body.count
      body.append(formEncoded: scratch.bytes)
      return settle(outcome, over: body.count + tail.count) { body.truncate(to: before) }
    case .columns:
      let before = columns.map(\.count)
      let outcome = addToColumns(row)
      let size = columns.reduce(body.count + tail.count) { $0 + $1.count + 32 }
      return settle(outcome, over: size) { for (buffer, count) in zip(columns, before) { buffer.truncate(to: count) } }
    }
  }

  private func settle(_ outcome: Outcome, over size: Int, _ undo: () -> Void) -> Outcome {
    guard outcome == .added else {
      undo()
      return outcome
    }
    guard size <= byteLimit || rowCount == 0 else {
      undo()
      return .full
    }
    rowCount += 1
    return .added
  }

  /// The body; the encoder is of no more use then.
  func finish() -> [UInt8] {
    if format.body == .columns {
      var start = 0
      for (end, values) in zip(keyEnds, columns) {
        body.append(keys.bytes(start..<end))
        start = end
        body.append(UInt8(ascii: "["))
        body.append(values.bytes)
        body.append(UInt8(ascii: "]"))
      }
    }
    body.append(tail)
    return Array(body.bytes)
  }

  // MARK: Values

  private func write(_ row: Statement, to buffer: ByteBuffer, percent: Bool) -> Outcome {
    // The statement has `id` first, whether it goes out or not.
    let offset: Int32 = format.hasID ? 0 : 1
    var start = 0
    for index in keyEnds.indices {
      let end = keyEnds[index]
      buffer.append(start..<end, of: keys)
      start = end
      if let reason = Self.append(row, Int32(index) + offset, to: buffer, percent: percent) {
        return .impossible("\(columnNames[index]) \(reason)")
      }
    }
    buffer.append(UInt8(ascii: "}"))
    return .added
  }

  private func addToColumns(_ row: Statement) -> Outcome {
    let offset: Int32 = format.hasID ? 0 : 1
    for (index, buffer) in columns.enumerated() {
      if rowCount > 0 { buffer.append(UInt8(ascii: ",")) }
      if let reason = Self.append(row, Int32(index) + offset, to: buffer, percent: false) {
        return .impossible("\(columnNames[index]) \(reason)")
      }
    }
    return .added
  }

  /// - Returns: why the value cannot be written, nil when it was.
  @inline(__always)
  private static func append(_ row: Statement, _ index: Int32, to buffer: ByteBuffer, percent: Bool) -> String? {
    switch row.kind(at: index) {
    case .text:
      return buffer.append(json: row.textInPlace(at: index), escapingPercent: percent) ? nil : "is not UTF-8"
    case .integer: buffer.append(decimal: row.int64(at: index))
    case .null: buffer.append("null")
    case .real:
      let value = row.double(at: index)
      guard value.isFinite else { return "is not finite" }
      buffer.append("\(value)")
    case .blob: return "holds bytes and no text"
    }
    return nil
  }

  private static func append(_ text: String, to buffer: ByteBuffer) {
    var text = text
    // A String is UTF-8.
    text.withUTF8 { _ = buffer.append(json: $0, escapingPercent: false) }
  }

  private static func append(form text: String, to buffer: ByteBuffer) {
    var text = text
    text.withUTF8 { buffer.append(formEncoded: $0) }
  }
}
