import Foundation
import TestSupport
import Testing

@Suite("The privacy manifests") struct PrivacyManifestTests {
  private static func manifest(_ target: String) throws -> [String: Any] {
    let data = try Data(contentsOf: URL(fileURLWithPath: "\(Program.root)/Sources/\(target)/PrivacyInfo.xcprivacy"))
    return try #require(PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
  }

  /// The text of all that is built into an app.
  private static func sources() throws -> String {
    let root = Program.root + "/Sources"
    let files = try FileManager.default.subpathsOfDirectory(atPath: root).filter { path in
      path.hasSuffix(".swift") && !path.hasSuffix("+Linux.swift") && !path.hasPrefix("aware-notification/")
    }
    return try files.map { try String(contentsOfFile: root + "/" + $0, encoding: .utf8) }.joined(separator: "\n")
  }

  @Test(
    "Each names the interfaces that the sources use and the reasons, and no other",
    arguments: ["com.awareframework.ios.sensor.notification", "AwareNotificationExtension"])
  func accessedInterfaces(_ target: String) throws {
    // https://developer.apple.com/documentation/bundleresources/describing-use-of-required-reason-api
    let interfaces: [(category: String, pattern: String, reason: String)] = [
      ("UserDefaults", #"UserDefaults\.standard"#, "CA92.1"), ("UserDefaults", #"UserDefaults\(suiteName:"#, "1C8F.1"),
      ("FileTimestamp", #"\b[fl]?stat\(|\.modificationDate|\.creationDate|getattrlist"#, "C617.1"),
      ("DiskSpace", #"\bstatv?fs\(|volumeAvailableCapacity|\.systemFreeSize"#, "E174.1"),
      ("SystemBootTime", #"systemUptime|mach_absolute_time"#, ""), ("ActiveKeyboards", "activeInputModes", ""),
    ]
    let sources = try Self.sources()
    let used = interfaces.filter { sources.range(of: $0.pattern, options: .regularExpression) != nil }
    let declared = try #require(try Self.manifest(target)["NSPrivacyAccessedAPITypes"] as? [[String: Any]])
    let declaredReasons = Set(
      declared.flatMap { type in
        let category = type["NSPrivacyAccessedAPIType"] as? String ?? ""
        return (type["NSPrivacyAccessedAPITypeReasons"] as? [String] ?? []).map { category + " " + $0 }
      })
    #expect(declaredReasons == Set(used.map { "NSPrivacyAccessedAPICategory\($0.category) \($0.reason)" }))
  }

  @Test(
    "Each says what is collected, and that nobody is tracked",
    arguments: ["com.awareframework.ios.sensor.notification", "AwareNotificationExtension"])
  func collectedData(_ target: String) throws {
    let manifest = try Self.manifest(target)
    #expect(manifest["NSPrivacyTracking"] as? Bool == false)
    #expect((manifest["NSPrivacyTrackingDomains"] as? [String])?.isEmpty == true)
    let types = try #require(manifest["NSPrivacyCollectedDataTypes"] as? [[String: Any]])
    #expect(
      types.compactMap { $0["NSPrivacyCollectedDataType"] as? String }.sorted() == [
        "NSPrivacyCollectedDataTypeDeviceID", "NSPrivacyCollectedDataTypeOtherUserContent",
        "NSPrivacyCollectedDataTypeProductInteraction",
      ])
    for type in types {
      #expect(type["NSPrivacyCollectedDataTypeLinked"] as? Bool == true)
      #expect(type["NSPrivacyCollectedDataTypeTracking"] as? Bool == false)
      #expect((type["NSPrivacyCollectedDataTypePurposes"] as? [String])?.isEmpty == false)
    }
  }
}
