import Foundation

/// Starts programs whose work on the files of one folder is written down, or cut off at a chosen operation.
public enum FileRecorder {
  public enum Interruption: Sendable {
    /// The program gets SIGKILL in the operation's stead.
    case kill(at: Int)
    /// From the operation on nothing can be written, until the program writes to its output.
    case fullDisk(from: Int)
    /// From the operation on nothing works, until the program writes to its output.
    case brokenDisk(from: Int)
    /// From the operation on so many syncs fail, and nothing else does.
    case failingSyncs(from: Int, count: Int)
  }

  /// Whether there is a C compiler to build it with. A sanitizer has hooks of its own in the same places.
  public static let isAvailable: Bool = !Campaign.isSanitized && library != nil

  /// Runs `program` to its end. The operations are counted from 1.
  public static func run(
    _ program: String, _ arguments: [String], folder: String, _ interruption: Interruption? = nil
  ) throws -> (result: Program.Result, recording: FileRecording) {
    let temporary = TemporaryFolder()
    let record = temporary.path("record")
    var environment = [
      "LD_PRELOAD": library?.path("recorder.so") ?? "", "RECORD_FOLDER": folder, "RECORD_TO": record,
      // A temporary file of SQLite's would be one of them.
      "SQLITE_TMPDIR": folder,
    ]
    switch interruption {
    case .kill(let number)?: environment["RECORD_KILL_AT"] = "\(number)"
    case .fullDisk(let number)?: environment["RECORD_FULL_AT"] = "\(number)"
    case .brokenDisk(let number)?: environment["RECORD_FAIL_AT"] = "\(number)"
    case .failingSyncs(let number, let count)?:
      environment["RECORD_FAIL_SYNCS_AT"] = "\(number)"
      environment["RECORD_FAIL_SYNCS"] = "\(count)"
    case nil: break
    }
    let result = try Program.run(program, arguments, environment: environment)
    return (result, try FileRecording(Data(contentsOf: URL(fileURLWithPath: record))))
  }

  private static let library: TemporaryFolder? = {
    let folder = TemporaryFolder()
    let built = try? Program.run(
      "/usr/bin/env",
      [
        "cc", "-shared", "-fPIC", "-O1", "-o", folder.path("recorder.so"),
        Program.root + "/Tests/FileRecorder/file_recorder.c",
      ])
    return built?.status == 0 ? folder : nil
  }()
}

/// What a program did to the files of one folder, in order.
public struct FileRecording: Sendable {
  /// A file is known by its inode, for it may change its name.
  public enum Operation: Sendable {
    case create(name: String, inode: UInt64)
    case open(name: String, inode: UInt64)
    case write(inode: UInt64, offset: Int, bytes: [UInt8])
    case truncate(inode: UInt64, size: Int)
    case sync(inode: UInt64)
    /// "" is the folder itself.
    case syncFolder(name: String)
    case makeFolder(name: String)
    case unlink(name: String)
    case rename(from: String, to: String)
    case link(from: String, to: String)
    case failed
    /// Not on the folder: the program wrote this to its output.
    case said(String)

    /// Whether it counts as an operation at which the program can be cut off.
    public var counts: Bool {
      switch self {
      case .open, .said: return false
      default: return true
      }
    }
  }

  public let operations: [Operation]

  /// How many operations there are to cut the program off at.
  public var count: Int { operations.lazy.filter(\.counts).count }

  /// How many of them come before the program's first output.
  public var countBeforeOutput: Int {
    operations.prefix { if case .said = $0 { false } else { true } }.filter(\.counts).count
  }

  /// The numbers, as the program can be cut off at them, of the operations before its first output that `isWanted`.
  public func numbersBeforeOutput(where isWanted: (Operation) -> Bool) -> [Int] {
    operations.prefix { if case .said = $0 { false } else { true } }.filter(\.counts).enumerated()
      .filter { isWanted($0.element) }.map { $0.offset + 1 }
  }

  init(_ record: Data) throws {
    var reader = Reader(bytes: [UInt8](record))
    var operations: [Operation] = []
    while let operation = reader.next() { operations.append(operation) }
    self.operations = operations
  }

  /// As in file_recorder.c.
  private struct Reader {
    let bytes: [UInt8]
    var position = 0

    mutating func next() -> Operation? {
      guard position < bytes.count else { return nil }
      let kind = integer(4)
      let (nameLength, otherLength, _) = (integer(4), integer(4), integer(4))
      let (inode, offset, size) = (UInt64(integer(8)), integer(8), integer(8))
      let (name, other, content) = (text(nameLength), text(otherLength), take(size))
      switch kind {
      case 1: return .create(name: name, inode: inode)
      case 2: return .open(name: name, inode: inode)
      case 3: return .write(inode: inode, offset: offset, bytes: Array(content))
      case 4: return .truncate(inode: inode, size: offset)
      case 5: return .sync(inode: inode)
      case 6: return .syncFolder(name: name)
      case 7: return .unlink(name: name)
      case 8: return .rename(from: name, to: other)
      case 9: return .link(from: name, to: other)
      case 10: return .failed
      case 11: return .said(String(decoding: content, as: UTF8.self))
      case 12: return .makeFolder(name: name)
      default: preconditionFailure("the record is not one of this recorder")
      }
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8> {
      defer { position += count }
      return bytes[position..<position + count]
    }

    private mutating func integer(_ size: Int) -> Int {
      take(size).reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    private mutating func text(_ length: Int) -> String { String(decoding: take(length), as: UTF8.self) }
  }
}
