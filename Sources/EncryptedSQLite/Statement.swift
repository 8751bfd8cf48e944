import CSQLCipher

/// A prepared statement and the memory its values are bound from.
///
/// Text is copied once into a buffer that the statement keeps and reuses, and SQLite reads it there: no allocation a
/// row, and no second copy. Indexes count from 1 when binding and from 0 when reading, as in SQLite.
///
/// Obtained through ``Connection/withStatement(_:_:)`` and not kept beyond it.
public final class Statement {
  let handle: OpaquePointer
  private unowned let connection: Connection
  private let arena = Arena()
  /// The first failed binding since the last step. All of them are mistakes that a step must not hide.
  private var bindStatus = SQLITE_OK
  var isInUse = false

  init(_ sql: String, on connection: Connection) throws {
    var prepared: OpaquePointer?
    let status = sqlite3_prepare_v2(connection.handle, sql, -1, &prepared, nil)
    guard status == SQLITE_OK else { throw connection.error(status) }
    guard let prepared else { throw DatabaseError(.invalidArgument, "the SQL text holds no statement") }
    handle = prepared
    self.connection = connection
  }

  deinit { sqlite3_finalize(handle) }

  // MARK: Binding

  public func bind(_ value: Int64, at index: Int32) {
    note(sqlite3_bind_int64(handle, index, value))
  }

  public func bind(_ value: Double, at index: Int32) {
    note(sqlite3_bind_double(handle, index, value))
  }

  public func bindNull(at index: Int32) {
    note(sqlite3_bind_null(handle, index))
  }

  /// Binds `text` as UTF-8, NULs included.
  public func bind(_ text: String, at index: Int32) {
    var text = text
    text.withUTF8 { utf8 in
      let copy = arena.copy(UnsafeRawBufferPointer(utf8))
      note(
        sqlite3_bind_text64(
          handle, index, copy.assumingMemoryBound(to: CChar.self), UInt64(utf8.count), nil, UInt8(SQLITE_UTF8)))
    }
  }

  public func bind(blob bytes: UnsafeRawBufferPointer, at index: Int32) {
    note(sqlite3_bind_blob64(handle, index, arena.copy(bytes), UInt64(bytes.count), nil))
  }

  // MARK: Running

  /// Goes to the next row; false when there is none.
  public func step() throws -> Bool {
    guard bindStatus == SQLITE_OK else { throw connection.error(bindStatus) }
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let status: throw connection.error(status)
    }
  }

  /// Runs a statement that gives no rows, and makes it ready for the next values.
  public func run() throws {
    defer { reset() }
    while try step() {}
  }

  /// Makes the statement ready to be bound and run again. Columns read before are no longer valid.
  public func reset() {
    // Its result repeats the last step's error, which has been thrown.
    sqlite3_reset(handle)
    arena.reset()
    bindStatus = SQLITE_OK
  }

  func note(_ status: Int32) {
    if status != SQLITE_OK, bindStatus == SQLITE_OK { bindStatus = status }
  }

  // MARK: Reading the current row

  public var columnCount: Int32 { sqlite3_column_count(handle) }

  public func columnName(at index: Int32) -> String {
    sqlite3_column_name(handle, index).map { String(cString: $0) } ?? ""
  }

  /// The storage class of a stored value.
  public enum Kind: Sendable {
    case null
    case integer
    case real
    case text
    case blob
  }

  public func kind(at index: Int32) -> Kind {
    switch sqlite3_column_type(handle, index) {
    case SQLITE_INTEGER: .integer
    case SQLITE_FLOAT: .real
    case SQLITE_TEXT: .text
    case SQLITE_BLOB: .blob
    default: .null
    }
  }

  public func isNull(at index: Int32) -> Bool { kind(at: index) == .null }

  public func int64(at index: Int32) -> Int64 { sqlite3_column_int64(handle, index) }

  public func int(at index: Int32) -> Int { Int(sqlite3_column_int64(handle, index)) }

  public func double(at index: Int32) -> Double { sqlite3_column_double(handle, index) }

  /// The text of a column, "" when it is null. Bytes that are not UTF-8 are replaced by U+FFFD.
  public func string(at index: Int32) -> String {
    withText(at: index) { String(decoding: $0, as: UTF8.self) }
  }

  /// Calls `body` with the column's text where SQLite holds it; valid inside `body` only.
  @inline(__always)
  public func withText<Result>(
    at index: Int32, _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
  ) rethrows -> Result {
    try body(textInPlace(at: index))
  }

  /// As ``withText(at:_:)``, valid until the column is read as something else or the statement steps: for who reads so many
  /// that a closure for each would count.
  package func textInPlace(at index: Int32) -> UnsafeBufferPointer<UInt8> {
    // The text first, then its length: the order that sqlite3_column_bytes documents.
    let start = sqlite3_column_text(handle, index)
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, index)))
  }

  /// Calls `body` with the column's bytes where SQLite holds them; valid inside `body` only.
  public func withBlob<Result>(at index: Int32, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    let start = sqlite3_column_blob(handle, index)
    return try body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, index))))
  }
}

/// Memory for the texts of one row, at addresses that stay until `reset`.
///
/// A class, for a mutating call on a struct in a class is checked at run time for exclusive access, each text anew.
private final class Arena {
  private var block: UnsafeMutableRawBufferPointer
  private var used = 0
  /// Blocks that a row outgrew: still bound until the row is done.
  private var outgrown: [UnsafeMutableRawBufferPointer] = []
  /// A row that needed more, such as a payload of megabytes, does not hold on to it.
  private static let largestKept = 1 << 16

  init() { block = .allocate(byteCount: 2048, alignment: 16) }

  deinit {
    block.deallocate()
    for block in outgrown { block.deallocate() }
  }

  @inline(__always)
  func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer {
    if block.count - used < bytes.count { grow(for: bytes.count) }
    // Allocated with a size above 0, so there is a base address.
    let target = block.baseAddress.unsafelyUnwrapped + used
    if let source = bytes.baseAddress { target.copyMemory(from: source, byteCount: bytes.count) }
    used += bytes.count
    return UnsafeRawPointer(target)
  }

  private func grow(for count: Int) {
    outgrown.append(block)
    block = .allocate(byteCount: max(2 * block.count, count), alignment: 16)
    used = 0
  }

  @inline(__always)
  func reset() {
    used = 0
    if !outgrown.isEmpty || block.count > Self.largestKept { shrink() }
  }

  private func shrink() {
    for block in outgrown { block.deallocate() }
    outgrown = []
    if block.count > Self.largestKept {
      block.deallocate()
      block = .allocate(byteCount: 2048, alignment: 16)
    }
  }
}
