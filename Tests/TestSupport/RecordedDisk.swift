import Foundation

/// A folder on a disk with a journaling file system, worked on by a recorded program, whose power may fail.
///
/// What was synced of a file is there afterwards. Of its later writes any may be missing, or be there in part. Of the
/// changes of the folder since its last sync any may be missing too, but none of a name without the later ones of it.
public struct RecordedDisk {
  /// What became of the writes that were not synced.
  public enum Fate: CaseIterable, Sendable {
    case noneIsThere
    case allAreThere
    case someAreThere
    case tornAtSectors
    case tornAtPages
  }

  private enum Change {
    case write(offset: Int, bytes: [UInt8])
    case truncate(Int)
  }

  private final class File {
    var synced: [UInt8]
    var unsynced: [Change] = []
    let isFolder: Bool
    init(_ bytes: [UInt8], isFolder: Bool = false) { (synced, self.isFolder) = (bytes, isFolder) }
  }

  private enum Renaming {
    case add(String, File)
    case remove(String)

    var name: String {
      switch self {
      case .add(let name, _), .remove(let name): return name
      }
    }

    var folder: String { name.split(separator: "/").dropLast().joined(separator: "/") }
  }

  private var files: [UInt64: File] = [:]
  private var names: [String: File] = [:]
  private var syncedNames: [String: File] = [:]
  /// Of one operation each: a renaming is there as a whole, or not at all.
  private var unsyncedNames: [[Renaming]] = []

  /// The disk holds the files of the folder and of those below it, all synced.
  public init(_ folder: TemporaryFolder) {
    names = folder.contents.mapValues { File([UInt8]($0)) }
    for name in FileManager.default.enumerator(atPath: folder.path)?.compactMap({ $0 as? String }) ?? [] {
      guard names[name] == nil else { continue }
      let content = FileManager.default.contents(atPath: folder.path(name))
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: folder.path(name), isDirectory: &isFolder)
      names[name] = File([UInt8](content ?? Data()), isFolder: isFolder.boolValue)
    }
    syncedNames = names
  }

  /// Goes on by one operation.
  public mutating func apply(_ operation: FileRecording.Operation) {
    switch operation {
    case .create(let name, let inode):
      let file = File([])
      files[inode] = file
      change([.add(name, file)])
    case .open(let name, let inode):
      files[inode] = names[name]
    case .write(let inode, let offset, let bytes):
      files[inode]?.unsynced.append(.write(offset: offset, bytes: bytes))
    case .truncate(let inode, let size):
      files[inode]?.unsynced.append(.truncate(size))
    case .sync(let inode):
      guard let file = files[inode] else { return }
      for change in file.unsynced { Self.apply(change, to: &file.synced) }
      file.unsynced = []
    case .syncFolder(let name):
      // Each folder is synced for itself. A renaming from one to another is there with the first of the two.
      let isSynced = { (renamings: [Renaming]) in renamings.contains { $0.folder == name } }
      for renaming in unsyncedNames.filter(isSynced).joined() { Self.apply(renaming, to: &syncedNames) }
      unsyncedNames.removeAll(where: isSynced)
    case .makeFolder(let name):
      change([.add(name, File([], isFolder: true))])
    case .unlink(let name):
      change([.remove(name)])
    case .rename(let old, let new):
      guard let file = names[old] else { return }
      change([.remove(old), .add(new, file)])
    case .link(let old, let new):
      guard let file = names[old] else { return }
      change([.add(new, file)])
    case .failed, .said:
      break
    }
  }

  /// Goes through `recording` and cuts the power `cuts` times, a fifth of them when all is said, each with another fate.
  ///
  /// - Parameter body: called with `folder` as a cut left it; told whether the program had said its word by then, and where
  ///   the cut was.
  /// - Returns: whether the program said its word.
  public mutating func cutPower(
    _ cuts: Int, during recording: FileRecording, into folder: TemporaryFolder, using random: inout SeededGenerator,
    body: (_ isSaid: Bool, _ place: String, _ random: inout SeededGenerator) throws -> Void
  ) throws -> Bool {
    var (applied, isSaid) = (0, false)
    for cut in 0..<cuts {
      let end = (cut + 1) * recording.operations.count / (cuts - cuts / 5)
      while applied < min(end, recording.operations.count) {
        if case .said = recording.operations[applied] { isSaid = true }
        apply(recording.operations[applied])
        applied += 1
      }
      let fate = Fate.allCases[cut % Fate.allCases.count]
      try cutPower(fate, into: folder, using: &random)
      try body(isSaid, "cut \(cut) after \(applied) of \(recording.operations.count), \(fate)", &random)
    }
    return isSaid
  }

  /// Writes into `folder`, emptied first, what a power cut may leave now.
  public func cutPower(_ fate: Fate, into folder: TemporaryFolder, using random: inout SeededGenerator) throws {
    for name in folder.names { try FileManager.default.removeItem(atPath: folder.path(name)) }
    var names = syncedNames
    var lost: Set<String> = []
    for renamings in unsyncedNames {
      let concerned = renamings.map(\.name)
      let isLost: Bool
      switch fate {
      case .noneIsThere: isLost = true
      case .allAreThere: isLost = false
      default: isLost = Bool.random(using: &random) || !lost.isDisjoint(with: concerned)
      }
      if isLost {
        lost.formUnion(concerned)
      } else {
        for renaming in renamings { Self.apply(renaming, to: &names) }
      }
    }
    var written: [ObjectIdentifier: String] = [:]
    // In an order that a repetition has too, a folder before what is in it.
    for (name, file) in names.sorted(by: { $0.key < $1.key }) {
      // The folder itself was lost.
      if let slash = name.lastIndex(of: "/"), access(folder.path(String(name[..<slash])), F_OK) != 0 { continue }
      if file.isFolder {
        try FileManager.default.createDirectory(atPath: folder.path(name), withIntermediateDirectories: false)
        continue
      }
      if let other = written.updateValue(folder.path(name), forKey: ObjectIdentifier(file)) {
        try FileManager.default.linkItem(atPath: other, toPath: folder.path(name))
        continue
      }
      var bytes = file.synced
      for change in file.unsynced { Self.apply(change, fate, to: &bytes, using: &random) }
      if name.hasSuffix("-shm") {
        // Written through memory, and anything may have come to the disk.
        for index in bytes.indices { bytes[index] = UInt8.random(in: 0...255, using: &random) }
      }
      try Data(bytes).write(to: URL(fileURLWithPath: folder.path(name)))
    }
  }

  private mutating func change(_ renamings: [Renaming]) {
    for renaming in renamings { Self.apply(renaming, to: &names) }
    unsyncedNames.append(renamings)
  }

  private static func apply(_ renaming: Renaming, to names: inout [String: File]) {
    switch renaming {
    case .add(let name, let file): names[name] = file
    case .remove(let name): names[name] = nil
    }
  }

  private static func apply(_ change: Change, to bytes: inout [UInt8]) {
    switch change {
    case .write(let offset, let new):
      if bytes.count < offset + new.count {
        bytes.append(contentsOf: repeatElement(0, count: offset + new.count - bytes.count))
      }
      bytes.replaceSubrange(offset..<offset + new.count, with: new)
    case .truncate(let size):
      if size < bytes.count {
        bytes.removeSubrange(size...)
      } else {
        bytes.append(contentsOf: repeatElement(0, count: size - bytes.count))
      }
    }
  }

  private static func apply(
    _ change: Change, _ fate: Fate, to bytes: inout [UInt8], using random: inout SeededGenerator
  ) {
    switch (fate, change) {
    case (.noneIsThere, _):
      break
    case (.allAreThere, _):
      apply(change, to: &bytes)
    case (.someAreThere, _), (_, .truncate):
      if Bool.random(using: &random) { apply(change, to: &bytes) }
    case (.tornAtSectors, .write(let offset, let new)), (.tornAtPages, .write(let offset, let new)):
      let sector = fate == .tornAtSectors ? 512 : 4096
      var start = offset
      while start < offset + new.count {
        let end = min((start / sector + 1) * sector, offset + new.count)
        if Bool.random(using: &random) {
          apply(.write(offset: start, bytes: Array(new[start - offset..<end - offset])), to: &bytes)
        }
        start = end
      }
    }
  }
}
