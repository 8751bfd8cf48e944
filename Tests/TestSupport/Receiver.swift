import EncryptedSQLite
import Foundation

/// The reference receiver (Examples/receiver) as a process of its own, with a store that lasts as long as this object.
public final class Receiver {
  public struct Options: Sendable {
    /// The study that is taken; nil: any.
    public var study: (number: Int, key: String)?
    /// Signing keys by id.
    public var signingKeys: [String: [UInt8]] = [:]
    public var requiresSignature = false
    public var acknowledgesForms = false
    /// Bytes of a body.
    public var maximumBody: Int?
    /// What it gets wrong: JSON, a line for one request each (Examples/receiver/misbehaviour.py).
    public var misbehaviour: [String] = []
    /// Other options of its command line.
    public var more: [String] = []

    public init() {}
  }

  /// A request as it came.
  public struct RawRequest: Sendable {
    /// The request line and the headers.
    public let head: String
    public let body: Data
  }

  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  public private(set) var port = 0
  public var options: Options
  private let identity: TestAuthority.Identity
  private let folder = TemporaryFolder()
  private var process: Program.Running?

  public init(_ identity: TestAuthority.Identity, _ options: Options = Options()) throws {
    self.identity = identity
    self.options = options
    try start()
  }

  deinit { kill() }

  public var host: String { "https://localhost:\(port)" }

  /// Starts it again after ``stop()`` or ``kill()``, on the same port and store, with ``options`` as they are now.
  public func start() throws {
    let process = try Program.start(Program.python, arguments())
    self.process = process
    guard process.waitForFirstLine(), let line = process.output.split(separator: "\n").first,
      let port = line.split(separator: ":").last.flatMap({ Int($0) })
    else {
      process.kill()
      throw Failure(description: "the receiver did not start: \(process.finish().errors)")
    }
    self.port = port
  }

  /// Ends it as an operator would: what is under way is answered first.
  public func stop() {
    process?.signal(SIGTERM)
    _ = process?.finish()
    process = nil
  }

  public func kill() {
    process?.kill()
    _ = process?.finish()
    process = nil
  }

  private func arguments() -> [String] {
    var result = [
      Program.root + "/Examples/receiver", "--certificate", identity.chain, "--key", identity.key, "--port", "\(port)",
      "--database", folder.path("store.db"), "--log", folder.path("log"), "--raw-log", folder.path("raw"),
    ]
    if let study = options.study {
      result += ["--study", "\(study.number)", "--study-key-file", folder.write("study.key", study.key)]
    }
    for (place, key) in options.signingKeys.enumerated() {
      let path = folder.path("signing-\(place).key")
      // With a line end, or a key that ends in one would lose it.
      _ = FileManager.default.createFile(atPath: path, contents: Data(key.value + Array("\n".utf8)))
      result += ["--signing-key", "\(key.key)=\(path)"]
    }
    if options.requiresSignature { result.append("--require-signature") }
    if options.acknowledgesForms { result.append("--acknowledge-forms") }
    if let size = options.maximumBody { result += ["--max-body", "\(size)"] }
    if !options.misbehaviour.isEmpty {
      result += ["--misbehave", folder.write("misbehaviour", options.misbehaviour.joined(separator: "\n"))]
    }
    return result + options.more
  }
}

// MARK: What it stored

extension Receiver {
  public func rows(in table: String) -> Int { integer("SELECT count(*) FROM \(table)") }
  public func distinctRecordIds(in table: String) -> Int { integer("SELECT count(DISTINCT recordId) FROM \(table)") }
  /// The values of one column, in the order of storing; null is "".
  public func values(of column: String, in table: String) -> [String] {
    texts("SELECT \(column) FROM \(table) ORDER BY _id")
  }

  /// How many batches it stored, repeats of one key counted once.
  public var batches: Int { integer("SELECT count(*) FROM batch") }
  public var idempotencyKeys: [String] { texts("SELECT idempotencyKey FROM batch ORDER BY id") }
  /// The record ids of the delivery receipts, sorted.
  public var receipts: [String] { texts("SELECT recordId FROM delivery_receipt ORDER BY recordId") }

  private func integer(_ sql: String) -> Int { RawSQLite(folder.path("store.db")).integer(sql) }
  private func texts(_ sql: String) -> [String] { RawSQLite(folder.path("store.db")).texts(sql) }
}

// MARK: What it got

extension Receiver {
  /// Every request, the refused ones too, in the order in which they came.
  public var rawRequests: [RawRequest] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path("raw"))) ?? []
    return names.filter { $0.hasSuffix(".body") }.sorted().map { name in
      let stem = folder.path("raw/" + name.dropLast(5))
      let head = FileManager.default.contents(atPath: stem + ".head") ?? Data()
      return RawRequest(
        head: String(decoding: head, as: UTF8.self),
        body: FileManager.default.contents(atPath: stem + ".body") ?? Data())
    }
  }

  /// Its log: an object for each request.
  public var log: [[String: Any]] {
    let text = (try? String(contentsOfFile: folder.path("log"), encoding: .utf8)) ?? ""
    return text.split(separator: "\n").compactMap { JSON.parse(String($0)) as? [String: Any] }
  }
}
