import EncryptedSQLite

/// Copies one table, row by row past what cannot be read.
///
/// From the lowest id up to the damage, then from the highest id down to it. What lies between is looked up by the ids
/// that an index still gives; where the indexes do not give all, it is searched by halves.
struct TableSalvage {
  let table: String
  /// `id` first.
  let columns: [String]
  /// The index, beside the table itself, that holds every id.
  let index: String?
  let source: DamagedDatabase
  let target: Connection
  /// The highest id that was ever given out, as far as it is known.
  let lastId: Int64?

  private(set) var saved = 0
  private var missing = MissingIDs()
  private var isExact = true
  /// Failed looks into the tree that are still allowed, so that the search ends whatever the file says.
  private var looksLeft = 20_000
  /// Between these two, which were seen, nothing is known yet.
  private var (low, high) = (Int64.min, Int64.max)

  init(
    _ table: String, columns: [String], index: String?, source: DamagedDatabase, target: Connection, lastId: Int64?
  ) {
    self.table = table
    self.columns = columns
    self.index = index
    self.source = source
    self.target = target
    self.lastId = lastId
  }

  mutating func run() throws -> SalvageReport.Table {
    try readOutermost()
    let isWhole = try readUp() || readDown()
    if !isWhole, try !readIndexed() {
      isExact = false
      try search()
    }
    return SalvageReport.Table(name: table, saved: saved, missing: missing.ranges, isExact: isExact, isFound: true)
  }

  // MARK: From both ends

  /// The two ids that lie on the bounds of all ranges and not in them. No store of ours has such rows.
  private mutating func readOutermost() throws {
    let query = "SELECT \(columns.joined(separator: ", ")) FROM \(table) WHERE id = ?1"
    for id in [Int64.min, .max] { _ = try source.forEachRow(query, .integer(id)) { try insert($0, id) } }
  }

  /// - Returns: whether the end was reached.
  private mutating func readUp() throws -> Bool {
    let (last, isDone) = try read(above: low, below: .max)
    low = last
    return isDone
  }

  private mutating func readDown() throws -> Bool {
    let (last, isDone) = try read(above: low, below: .max, isDescending: true)
    high = last
    return isDone
  }

  /// Saves the rows between two ids in order, and notes those whose own pages are damaged, until the table's tree cannot
  /// be followed.
  ///
  /// - Returns: the last id that was seen, the bound that it began at when there was none; and whether no more are there.
  private mutating func read(
    above bottom: Int64, below top: Int64, isDescending: Bool = false
  ) throws -> (last: Int64, isDone: Bool) {
    var (lower, upper) = (bottom, top)
    let order = isDescending ? "DESC" : "ASC"
    // With the bounds themselves: looked for above the id before, a row would be missed whose neighbour's page is damaged.
    let condition = "FROM \(table) WHERE id >= ?1 AND id <= ?2 ORDER BY id \(order)"
    func isNext(_ id: Int64) -> Bool { lower < id && id < upper }
    func pass(_ id: Int64) { if isDescending { upper = id } else { lower = id } }
    var last: Int64 { isDescending ? upper : lower }
    while true {
      do {
        let query = "SELECT \(columns.joined(separator: ", ")) \(condition)"
        let isDone = try source.forEachRow(query, .integer(lower + 1), .integer(upper - 1)) { row in
          let id = row.int64(at: 0)
          // Otherwise the tree leads back into itself.
          guard isNext(id) else { throw OutOfOrder() }
          pass(id)
          try insert(row, id)
        }
        if isDone { return (last, true) }
      } catch is OutOfOrder {
        return (last, false)
      }
      // The tree of ids alone, without the pages that a row's values may have for themselves.
      var next: Int64?
      let isRead = try source.forEachRow("SELECT id \(condition) LIMIT 1", .integer(lower + 1), .integer(upper - 1)) {
        next = $0.int64(at: 0)
      }
      guard isRead, let next, isNext(next), looksLeft > 0 else { return (last, isRead && next == nil) }
      missing.insert(next)
      looksLeft -= 1
      pass(next)
    }
  }

  private mutating func insert(_ row: Statement, _ id: Int64) throws {
    let parameters = Array(repeating: "?", count: columns.count).joined(separator: ", ")
    do {
      try target.withStatement("INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(parameters))") {
        insert in
        insert.bind(columns: columns.count, of: row)
        try insert.run()
      }
      saved += 1
    } catch let error as DatabaseError where error.code == .constraint {
      // Met before; otherwise it is a row that no store of ours can have held.
      if try target.integer("SELECT count(*) FROM \(table) WHERE id = ?", .integer(id)) == 0 { missing.insert(id) }
    }
  }

  // MARK: By an index

  /// - Returns: whether the index gave every id, so that nothing else can be there.
  private mutating func readIndexed() throws -> Bool {
    guard let index else { return false }
    var ids: Set<Int64> = []
    func read(_ order: String) throws -> Bool {
      try source.forEachRow("SELECT id FROM \(table) INDEXED BY \(index) ORDER BY recordId \(order)") { row in
        let id = row.int64(at: 0)
        if low < id, id < high { ids.insert(id) }
      }
    }
    let isWhole = try read("ASC")
    if !isWhole { _ = try read("DESC") }
    var position = low
    for id in ids.sorted() where id > position {
      let (last, isAtEnd) = looksLeft > 0 ? try self.read(above: id - 1, below: high) : (id - 1, false)
      if last < id {
        missing.insert(id)
        looksLeft -= 1
      }
      position = max(id, last)
      if isAtEnd { break }
    }
    return isWhole
  }

  // MARK: By halves

  private mutating func search() throws {
    // Where the last id is not known, no more than the file has room for.
    let room = Int64(try source.connection.pageCount) * 64
    let end = lastId ?? (max(0, low) > .max - room ? .max : max(0, low) + room)
    if high == .max, end < .max {
      if lastId == nil { missing.insert(end + 1 ... .max) }
      high = max(end, low) + 1
    }
    var gaps = [(max(0, low), high)]
    while let (bottom, top) = gaps.popLast() {
      guard top - bottom > 1 else { continue }
      guard looksLeft > 0 else {
        missing.insert(bottom + 1...top - 1)
        continue
      }
      looksLeft -= 1
      let middle = bottom + (top - bottom) / 2
      let (upper, isUpperDone) = try read(above: middle - 1, below: top)
      let (lower, isLowerDone) = try read(above: bottom, below: middle, isDescending: true)
      if !isUpperDone, upper < middle { missing.insert(middle) }
      if !isLowerDone { gaps.append((bottom, lower)) }
      if !isUpperDone { gaps.append((max(upper, middle), top)) }
    }
  }

  /// The highest id that is known to have been there.
  func highestId() throws -> Int64 {
    max(0, missing.single.max() ?? 0, try target.integer("SELECT max(id) FROM \(table)") ?? 0)
  }
}

private struct OutOfOrder: Error {}
