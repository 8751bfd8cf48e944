import EncryptedSQLite

/// The files of a spool, by what they are.
struct SpoolFindings {
  /// In the order in which the pushes arrived.
  var waiting: [String] = []
  private(set) var foreign = 0
  private(set) var later = 0
  var failed: [String] = []
  /// One for each code.
  private(set) var errors: [DatabaseError] = []

  init(_ folder: SpoolFolder, _ keys: [EncryptionKey]) throws {
    var orders: [(name: String, order: SpooledPush.Order)] = []
    for name in try folder.names() {
      do {
        switch try folder.contents(of: name) {
        case .absent: continue
        case .notOurs: failed.append(name)
        case .bytes(let bytes):
          switch SpoolFile.content(bytes, name: name, keys: keys) {
          case .push(let push): orders.append((name, push.order))
          case .foreignKey: foreign += 1
          case .laterVersion: later += 1
          case .failed: failed.append(name)
          }
        }
      } catch {
        // No reason to leave the others.
        add(error)
      }
    }
    waiting = orders.sorted { $0.order < $1.order }.map(\.name)
  }

  mutating func add(_ error: any Error) {
    let error = DatabaseError(spool: error)
    if !errors.contains(where: { $0.code == error.code }) { errors.append(error) }
  }
}

extension SpoolFolder {
  /// Reads one that waits again: together they may be more than fits into memory.
  func push(_ name: String, _ keys: [EncryptionKey]) throws -> SpooledPush? {
    guard case .bytes(let bytes) = try contents(of: name),
      case .push(let push) = SpoolFile.content(bytes, name: name, keys: keys)
    else { return nil }
    return push
  }
}
