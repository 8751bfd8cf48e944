import EncryptedSQLite
import Foundation

/// A check of a whole store: cipher, every page, log, schema, and what the rows say of each other.
public struct StoreVerification: Sendable {
  public struct Check: Sendable {
    public let name: String
    /// What was looked at, for a person.
    public let detail: String
    /// What is wrong, at most twenty faults and a line about more; empty when nothing is. No content of a row.
    public let faults: [String]
    /// Whether it was left out, for what it looks at cannot be relied on; then there are no faults, and ``detail`` says why.
    public var isSkipped = false
  }

  public let checks: [Check]
  public var isSound: Bool { checks.allSatisfy(\.faults.isEmpty) }
  /// What to do about the faults; nil where there are none.
  public var nextStep: String? {
    guard let first = checks.first(where: { !$0.faults.isEmpty }) else { return nil }
    if first.name == "spool" { return "give the key from before the last rotation, and see to the files named" }
    guard ["cipher", "pages", "log", "integrity"].contains(first.name) else {
      return "restore a backup, or let who wrote to the store besides this program say what was done"
    }
    return "restore a backup, or have restore --salvage put what can be read into a new store"
  }

  /// How many faults of one check are named.
  static let faultLimit = 20

  /// Checks the store at `path` and changes nothing.
  ///
  /// - Parameter previousKey: a key under which something may wait in the spool still.
  /// - Throws: when the store cannot be opened at all; what is found in it later is a fault, as is a file that was cut.
  public init(
    path: String, key: EncryptionKey, previousKey: EncryptionKey? = nil, migrator: SchemaMigrator = SchemaMigrator()
  ) throws {
    let connection: Connection
    do {
      connection = try Connection.open(path, key: key, options: .init(access: .readOnly))
    } catch let error as DatabaseError where error.code == .corrupt {
      checks = [Check(name: "cipher", detail: "", faults: [error.message])]
      return
    }
    var checks = [
      Self.cipher(connection), Self.pages(connection), Self.log(connection), Self.integrity(connection),
    ]
    // Counting and comparing rows of a damaged tree may not come to an end.
    let isReadable = checks.allSatisfy(\.faults.isEmpty)
    let expected = Result { try Self.expectedObjects(connection, migrator) }
    checks += [
      Self.migrations(connection, migrator), Self.schema(connection, expected.get),
      Self.foreign(connection, expected.get),
    ]
    let isAsMade = checks.allSatisfy(\.faults.isEmpty)
    for (name, look) in [("ledger", Self.ledgerFaults), ("records", Self.recordFaults)] {
      checks.append(
        isReadable && isAsMade
          ? Self.rows(name, connection, look)
          : Check(name: name, detail: "first see to the faults above", faults: [], isSkipped: true))
    }
    checks.append(Self.spool(connection, [key] + [previousKey].compactMap { $0 }))
    self.checks = checks
    try connection.close()
  }

  private static func cipher(_ connection: Connection) -> Check {
    let cipher = connection.cipher
    return Check(
      name: "cipher", detail: "SQLCipher \(cipher.libraryVersion), file format \(cipher.generation)", faults: [])
  }

  // MARK: Pages

  private static func pages(_ connection: Connection) -> Check {
    check("pages") {
      let count = try connection.pageCount
      var faults = try lasting(connection) {
        connection.canCheckPageMACs ? try connection.failedPageMACs(limit: faultLimit) : []
      }
      if faults.isEmpty {
        let (pages, isComplete) = try connection.unreadablePages(limit: faultLimit)
        faults += pages.map { "page \($0) of \(count) cannot be read" }
        if let last = pages.last, !isComplete { faults.append("what comes after page \(last) was not looked at") }
      }
      faults += try lasting(connection) {
        FileSystem.size(connection.path + "-wal") == 0 ? try rawFaults(connection) : []
      }
      let how = connection.hasPageMACs ? "each authenticated by its MAC" : "not authenticated in this file format"
      return ("\(count) pages, the free ones too, \(how)", faults)
    }
  }

  /// What `look` finds while nobody changes the files, or finds every time. It reads past SQLite's locks, and a program
  /// that writes or folds its log in meanwhile makes what is healthy look damaged.
  private static func lasting<Fault: Equatable>(
    _ connection: Connection, _ look: () throws -> [Fault]
  ) rethrows -> [Fault] {
    // Longer than a step of a file system's clock.
    let pause = 0.02
    var before = FileStamp(connection.path)
    var found = try look()
    for _ in 0..<10 where !found.isEmpty {
      if before.age > 2 * pause, before == FileStamp(connection.path) { break }
      usleep(UInt32(pause * 1_000_000))
      before = FileStamp(connection.path)
      found = try look().filter(found.contains)
    }
    return found
  }

  private static func rawFaults(_ connection: Connection) throws -> [String] {
    let raw = try connection.rawFaults()
    var faults: [String] = []
    faults += try connection.readableHeaderFaults()
    if raw.excess != 0 { faults.append("the file ends \(raw.excess) bytes after its last page") }
    // A page that was freed before it was ever written may be one.
    if raw.zeroPages > Int(try connection.integer("PRAGMA freelist_count") ?? 0) {
      faults.append("\(raw.zeroPages) pages consist of zeros, and were lost")
    }
    return faults
  }

  private static func log(_ connection: Connection) -> Check {
    check("log") {
      var frames = 0
      let losses = try lasting(connection) {
        let log = try WriteAheadLog(of: connection.path)
        frames = log.committedFrames
        return log.loss.map { [$0] } ?? []
      }
      let faults = losses.map {
        "the write-ahead log is damaged, and what was committed behind the damage (\($0.commits)) is lost"
      }
      return (frames == 0 ? "nothing waits in the write-ahead log" : "\(frames) frames", faults)
    }
  }

  private static func integrity(_ connection: Connection) -> Check {
    check("integrity") { ("every table and index read", try connection.integrityFaults(limit: faultLimit)) }
  }

  /// What another key encrypted is no fault: it waits for that key.
  private static func spool(_ connection: Connection, _ keys: [EncryptionKey]) -> Check {
    let report = NotificationSpool(besideStore: connection.path).inspect(keys)
    let remarks = report.faults.filter { $0.code == .spoolUnreadable }.map { "; " + $0.message }.joined()
    return check("spool") {
      (
        (report.waiting == 0
          ? "no push waits" : "\(report.waiting) \(report.waiting == 1 ? "push waits" : "pushes wait")")
          + remarks,
        report.faults.filter { $0.code != .spoolUnreadable }.map(\.message)
      )
    }
  }

  // MARK: Helpers

  private static func rows(
    _ name: String, _ connection: Connection, _ look: (Connection) throws -> (String, [String])
  ) -> Check {
    check(name) { try connection.boundedReadTransaction { try look(connection) } }
  }

  static func check(_ name: String, _ body: () throws -> (String, [String])) -> Check {
    do {
      let (detail, faults) = try body()
      let more = faults.count > faultLimit ? ["and more"] : []
      return Check(name: name, detail: detail, faults: faults.prefix(faultLimit) + more)
    } catch let error as DatabaseError {
      return Check(name: name, detail: "", faults: [error.message])
    } catch {
      return Check(name: name, detail: "", faults: ["\(error)"])
    }
  }
}
