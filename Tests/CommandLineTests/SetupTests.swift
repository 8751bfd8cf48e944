import Foundation
import TestSupport
import Testing

@Suite struct SetupTests {
  /// A `PATH` with what the script itself needs, `programs`, and an `apt-get` and a Python that leave a trace.
  private func setup(on programs: [String]) throws -> (result: Program.Result, trace: String) {
    let folder = TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.path("bin"), withIntermediateDirectories: false)
    for name in ["apt-get", "dpkg-query", "sudo", "python3"] {
      _ = folder.write("bin/\(name)", "#!/bin/sh\necho \(name) >>'\(folder.path("trace"))'\nexit 1\n", mode: 0o700)
    }
    for name in ["bash", "dirname", "uname"] {
      try FileManager.default.createSymbolicLink(
        atPath: folder.path("bin/\(name)"), withDestinationPath: "/usr/bin/\(name)")
    }
    for name in programs {
      try FileManager.default.createSymbolicLink(
        atPath: folder.path("bin/\(name)"), withDestinationPath: "/usr/bin/true")
    }
    let result = try Program.run(
      Program.root + "/Scripts/setup", [], environment: ["PATH": folder.path("bin"), "SUDO_UID": ""])
    let trace = FileManager.default.contents(atPath: folder.path("trace")) ?? Data()
    return (result, String(decoding: trace, as: UTF8.self))
  }

  @Test(
    arguments: [
      (["git"], ["swift"], ["git"]), (["swift"], ["git"], ["swift"]), ([], ["swift", "git"], []),
    ] as [([String], [String], [String])])
  func whatIsMissingIsNamedBeforeAnythingIsInstalled(has: [String], named: [String], notNamed: [String]) throws {
    let (result, trace) = try setup(on: has)
    #expect(result.status == 1)
    #expect(trace.isEmpty)
    for name in named { #expect(result.errors.contains("\(name) (")) }
    for name in notNamed { #expect(!result.errors.contains("\(name) (")) }
  }

  @Test func withBothItGoesOnToThePackages() throws {
    #expect(try setup(on: ["swift", "git"]).trace.hasPrefix("dpkg-query\n"))
  }
}
