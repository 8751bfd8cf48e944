import Foundation

/// What the write-ahead log beside a file holds, judged by its own checksums as SQLite does when it recovers it.
///
/// SQLite reads a log up to its first frame that does not fit, and says nothing of the rest: after a crash that rest was
/// never committed. A commit behind such a frame was, or may have been, and is lost.
package struct WriteAheadLog {
  /// Commits that cannot be read.
  package struct Loss: Equatable {
    /// How many stand behind the damage; 1 when it is the log's header that is damaged.
    package fileprivate(set) var commits: Int
    /// The salts of the log, which it changes each time that it starts anew; the whole header when that is damaged.
    fileprivate let log: [UInt8]
    fileprivate let frame: Int

    /// Whether it is the same damage: commits behind it may have come since.
    package static func == (one: Self, other: Self) -> Bool { one.log == other.log && one.frame == other.frame }
  }

  /// Frames up to the last commit that can be read.
  package private(set) var committedFrames = 0
  /// What is behind the first frame that cannot be read; nil when nothing is lost.
  package private(set) var loss: Loss?

  private static let headerSize = 32
  private static let frameHeaderSize = 24

  /// Reads the log of the database at `path`; an absent or empty one holds nothing.
  ///
  /// The log itself carries no locks, so that reading it here takes none away.
  package init(of path: String) throws {
    let log = path + "-wal"
    let descriptor = open(log, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      guard errno == ENOENT else { throw FileSystem.error("read", log, errno) }
      return
    }
    defer { close(descriptor) }
    guard let header = Self.read(descriptor, 0, Self.headerSize) else { return }
    let magic = Self.word(header, 0)
    let pageSize = Int(Self.word(header, 8))
    var sum = Checksum(isBigEndian: magic & 1 == 1)
    sum.add(header[..<24])
    guard magic & ~1 == 0x377f_0682, (512...65536).contains(pageSize), pageSize & (pageSize - 1) == 0,
      sum.matches(header, at: 24)
    else {
      // A header of zeros was never written.
      loss = header.allSatisfy { $0 == 0 } ? nil : Loss(commits: 1, log: header, frame: 0)
      return
    }
    readFrames(descriptor, pageSize, salts: header[16..<24], sum)
  }

  private mutating func readFrames(_ descriptor: Int32, _ pageSize: Int, salts: ArraySlice<UInt8>, _ start: Checksum) {
    var sum = start
    var damaged: Int?
    var index = 0
    while true {
      let offset = Self.headerSize + index * (Self.frameHeaderSize + pageSize)
      guard let frame = Self.read(descriptor, offset, Self.frameHeaderSize + pageSize) else { return }
      index += 1
      let isOfThisLog = frame[8..<16] == salts
      if damaged == nil {
        sum.add(frame[..<8])
        sum.add(frame[Self.frameHeaderSize...])
        damaged = isOfThisLog && sum.matches(frame, at: 16) ? nil : index
      }
      // The size of the database after a commit; 0 in the frames before a commit's last.
      guard Self.word(frame, 4) != 0 else { continue }
      if let damaged {
        if isOfThisLog { loss = Loss(commits: (loss?.commits ?? 0) + 1, log: Array(salts), frame: damaged) }
      } else {
        committedFrames = index
      }
    }
  }

  /// `count` bytes, nil where the file ends before.
  private static func read(_ descriptor: Int32, _ offset: Int, _ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return pread(descriptor, &bytes, count, off_t(offset)) == count ? bytes : nil
  }

  fileprivate static func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
    bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// The running checksum of the log's format (https://www.sqlite.org/fileformat2.html#checksum_algorithm).
  private struct Checksum {
    let isBigEndian: Bool
    private var first: UInt32 = 0
    private var second: UInt32 = 0

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    /// - Parameter bytes: a multiple of eight.
    mutating func add(_ bytes: ArraySlice<UInt8>) {
      bytes.withUnsafeBytes { bytes in
        for offset in stride(from: 0, to: bytes.count, by: 8) {
          first &+= word(bytes, offset) &+ second
          second &+= word(bytes, offset + 4) &+ first
        }
      }
    }

    private func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
      let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
      return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
    }

    func matches(_ bytes: [UInt8], at offset: Int) -> Bool {
      WriteAheadLog.word(bytes, offset) == first && WriteAheadLog.word(bytes, offset + 4) == second
    }
  }
}
