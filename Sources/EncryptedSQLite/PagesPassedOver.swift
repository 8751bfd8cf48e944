import CSQLCipher

/// Has an open file give zeros for some of its pages, which SQLCipher takes for pages that were never written: what comes
/// behind a damaged page can be read then. The file itself is not changed.
///
/// SQLite calls a file through a table of functions; this puts another one in its place until ``end()``.
final class PagesPassedOver {
  /// The table comes first, so that its address is that of the whole.
  private struct Table {
    var methods: sqlite3_io_methods
    let original: UnsafePointer<sqlite3_io_methods>
    let pageSize: Int
    var pages: Set<Int> = []
  }

  private let file: UnsafeMutablePointer<sqlite3_file>?
  private let table: UnsafeMutablePointer<Table>?

  init(_ file: UnsafeMutablePointer<sqlite3_file>?, pageSize: Int) {
    self.file = file
    guard let file, let original = file.pointee.pMethods, pageSize > 0 else {
      table = nil
      return
    }
    let table = UnsafeMutablePointer<Table>.allocate(capacity: 1)
    table.initialize(to: Table(methods: original.pointee, original: original, pageSize: pageSize))
    table.pointee.methods.xRead = { file, buffer, count, offset in
      guard let file, let buffer, let methods = file.pointee.pMethods else { return SQLITE_IOERR }
      let table = UnsafeRawPointer(methods).assumingMemoryBound(to: Table.self)
      let status = table.pointee.original.pointee.xRead(file, buffer, count, offset)
      if table.pointee.pages.contains(Int(offset) / table.pointee.pageSize + 1) {
        UnsafeMutableRawBufferPointer(start: buffer, count: Int(count)).initializeMemory(as: UInt8.self, repeating: 0)
      }
      return status
    }
    self.table = table
  }

  /// - Returns: false where the file cannot be read in this way.
  func add(_ page: Int) -> Bool {
    guard let file, let table else { return false }
    table.pointee.pages.insert(page)
    file.pointee.pMethods = UnsafeRawPointer(table).assumingMemoryBound(to: sqlite3_io_methods.self)
    return true
  }

  /// Gives the file its own functions back.
  func end() {
    guard let file, let table else { return }
    file.pointee.pMethods = table.pointee.original
  }

  deinit {
    guard let table else { return }
    table.deinitialize(count: 1)
    table.deallocate()
  }
}
