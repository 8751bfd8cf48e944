import EncryptedSQLite
import Foundation
import TestSupport
import Testing

@Suite struct KeyFileTests {
  let folder = TemporaryFolder()

  static func bytes(_ key: EncryptionKey) -> [UInt8] { key.withUnsafeBytes { Array($0) } }

  // MARK: Reading

  @Test(arguments: [0o600, 0o400])
  func readsAFileOfThisUser(mode: Int) throws {
    #expect(try KeyFile.read(folder.write("key", Keys.rawText + "\n", mode: mode)) == Keys.raw)
  }

  @Test(
    "A file that others can read or change is refused", arguments: [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644])
  func exposed(mode: Int) {
    let path = folder.write("key", Keys.rawText, mode: mode)
    #expect(Keys.error { _ = try KeyFile.read(path) } == .keyExposed)
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
  func anotherUsersFile() {
    let path = folder.write("key", Keys.rawText)
    #expect(chown(path, 65534, 65534) == 0)
    #expect(Keys.error { _ = try KeyFile.read(path) } == .keyExposed)
  }

  @Test(
    "One trailing newline is not part of the key",
    arguments: [
      ("word", "word"), ("word\n", "word"), ("word\r\n", "word"), ("word\n\n", "word\n"), ("word\r\n\r\n", "word\r\n"),
      ("word\r", "word\r"), ("\nword", "\nword"), (" word ", " word "), ("a\0b\n", "a\0b"), ("\0", "\0"),
    ])
  func trailingNewline(_ text: String, _ key: String) throws {
    #expect(Self.bytes(try KeyFile.read(folder.write("key", text))) == Array(key.utf8))
  }

  @Test(arguments: ["", "\n", "\r\n"])
  func empty(_ text: String) {
    let path = folder.write("key", text)
    #expect(Keys.error { _ = try KeyFile.read(path) } == .emptyKey)
  }

  @Test func mistypedRawKey() {
    let path = folder.write("key", "x'1234'\n")
    #expect(Keys.error { _ = try KeyFile.read(path) } == .invalidRawKey)
  }

  @Test func missing() {
    #expect(Keys.error { _ = try KeyFile.read(folder.path("none")) } == .keyNotFound)
  }

  @Test func aFolder() {
    #expect(Keys.error { _ = try KeyFile.read(folder.path) } == .keyUnavailable)
  }

  @Test func unreadable() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryFolder()
      let path = folder.write("key", Keys.rawText, mode: 0o000)
      #expect(chmod(folder.path, 0o755) == 0)
      let isRoot = geteuid() == 0
      if isRoot { #expect(seteuid(65534) == 0) }
      #expect(Keys.error { _ = try KeyFile.read(path) } == .keyUnavailable)
      if isRoot { #expect(seteuid(0) == 0) }
    }
  }

  @Test func tooLarge() throws {
    let largest = folder.write("largest", String(repeating: "k", count: (1 << 20) - 1))
    #expect(Self.bytes(try KeyFile.read(largest)).count == (1 << 20) - 1)
    let larger = folder.write("larger", String(repeating: "k", count: 1 << 20))
    #expect(Keys.error { _ = try KeyFile.read(larger) } == .keyUnavailable)
  }

  @Test("A FIFO that nobody writes to does not block")
  func fifoWithoutWriter() {
    #expect(mkfifo(folder.path("fifo"), 0o644) == 0)
    #expect(Keys.error { _ = try KeyFile.read(folder.path("fifo")) } == .emptyKey)
  }

  @Test("A FIFO is read to its end, however long its writer takes")
  func fifoWithWriter() async throws {
    let path = folder.path("fifo")
    #expect(mkfifo(path, 0o644) == 0)
    let writer = open(path, O_RDWR)
    try #require(writer >= 0)
    write(writer, "wo", 2)
    async let key = KeyFile.read(path)
    // Taken out of the pipe: the reader has it open, and waits for more.
    var waiting: Int32 = 1
    while waiting > 0 {
      #expect(ioctl(writer, UInt(FIONREAD), &waiting) == 0)
      try await Task.sleep(nanoseconds: 1_000_000)
    }
    write(writer, "rd\n", 3)
    while true {
      #expect(ioctl(writer, UInt(FIONREAD), &waiting) == 0)
      if waiting == 0 { break }
      try await Task.sleep(nanoseconds: 1_000_000)
    }
    close(writer)
    #expect(try await key == EncryptionKey("word"))
  }

  @Test func pipe() throws {
    let pipe = Pipe()
    pipe.fileHandleForWriting.write(Data("word\r\n".utf8))
    try pipe.fileHandleForWriting.close()
    #expect(try KeyFile.read(descriptor: pipe.fileHandleForReading.fileDescriptor) == EncryptionKey("word"))
  }

  @Test func badDescriptor() {
    #expect(Keys.error { _ = try KeyFile.read(descriptor: -1) } == .keyUnavailable)
  }

  @Test("One line is taken from a pipe, and the next is left in it")
  func lineByLine() throws {
    let pipe = Pipe()
    pipe.fileHandleForWriting.write(Data("one\ntwo\r\nthree".utf8))
    try pipe.fileHandleForWriting.close()
    let descriptor = pipe.fileHandleForReading.fileDescriptor
    #expect(try KeyFile.readLine(descriptor: descriptor) == EncryptionKey("one"))
    #expect(try KeyFile.readLine(descriptor: descriptor) == EncryptionKey("two"))
    #expect(try KeyFile.readLine(descriptor: descriptor) == EncryptionKey("three"))
    #expect(Keys.error { _ = try KeyFile.readLine(descriptor: descriptor) } == .emptyKey)
  }

  @Test func errorTextsHoldNoKey() {
    let path = folder.write("key", "x'5ecre7'")
    #expect {
      try KeyFile.read(path)
    } throws: {
      "\($0)".contains(path) && !"\($0)".contains("5ecre7")
    }
  }

  // MARK: Making

  @Test(
    "What is written reads back",
    arguments: [Keys.rawText, Keys.saltedText, "word", "word\n", "word\r", "word\r\n", "\r", "\n", "a\0", "🔑 '\""])
  func roundTrip(_ text: String) throws {
    let key = try EncryptionKey(text)
    try KeyFile.create(folder.path("key"), key)
    #expect(try KeyFile.read(folder.path("key")) == key)
    #expect(folder.names == ["key"])
  }

  @Test(arguments: [Keys.rawText, "word"])
  func endsInANewline(_ text: String) throws {
    try KeyFile.create(folder.path("key"), EncryptionKey(text))
    #expect(folder.contents["key"] == Data((text + "\n").utf8))
  }

  @Test("Mode 0600, whatever the umask")
  func mode() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryFolder()
      for mask: mode_t in [0, 0o022, 0o077, 0o777] {
        umask(mask)
        let path = folder.path("key-\(mask)")
        try KeyFile.create(path, Keys.raw)
        umask(0o022)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o600, "umask \(mask)")
      }
    }
  }

  @Test func exclusive() {
    let path = folder.write("key", "before")
    let before = folder.contents
    #expect(Keys.error { try KeyFile.create(path, Keys.raw) } == .alreadyExists)
    #expect(folder.contents == before)
  }

  @Test("A symbolic link is not followed, whether or not there is a file behind it", arguments: [true, false])
  func symbolicLink(isDangling: Bool) throws {
    let target = folder.path("target")
    if !isDangling { _ = folder.write("target", "before") }
    let before = folder.contents
    try FileManager.default.createSymbolicLink(atPath: folder.path("key"), withDestinationPath: target)
    #expect(Keys.error { try KeyFile.create(folder.path("key"), Keys.raw) } == .alreadyExists)
    #expect(folder.contents["target"] == before["target"])
  }

  @Test func noFolder() {
    #expect(Keys.error { try KeyFile.create(folder.path("none/key"), Keys.raw) } == .notFound)
  }

  @Test func noPermission() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryFolder()
      #expect(chmod(folder.path, 0o555) == 0)
      let isRoot = geteuid() == 0
      if isRoot { #expect(seteuid(65534) == 0) }
      #expect(Keys.error { try KeyFile.create(folder.path("key"), Keys.raw) } == .permissionDenied)
      if isRoot { #expect(seteuid(0) == 0) }
      #expect(chmod(folder.path, 0o755) == 0 && folder.names.isEmpty)
    }
  }

  @Test("A file that cannot be completed is removed again")
  func noRemains() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryFolder()
      // Ten bytes can be written, and then no more.
      let error = withFileSizeLimit(10) { Keys.error { try KeyFile.create(folder.path("key"), Keys.raw) } }
      #expect(error == .inputOutput)
      #expect(folder.names.isEmpty)
    }
  }
}
