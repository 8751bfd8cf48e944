// swift-tools-version: 6.0
import Foundation
import PackageDescription

// Compiles the package's sources for Apple's systems against stubs of Apple's modules, and tests them on Linux. The stubs
// declare what is used, as its documentation has it, and fake what the tests need. It is no proof that the sources compile
// or run on Apple's systems.

/// The files of one folder that are for other systems.
func others(_ folder: String, prefix: String = "") -> [String] {
  let files = try? FileManager.default.contentsOfDirectory(atPath: Context.packageDirectory + "/" + folder)
  return (files ?? []).filter { $0.hasSuffix("+Linux.swift") || $0.hasSuffix(".xcprivacy") }.map { prefix + $0 }
}

// On Apple's systems Foundation has what the stub of that name adds here, and files import Foundation alone.
let framework = "-I" + Context.packageDirectory + "/Stubs/SystemSQLCipher/Framework"
let checked: [SwiftSetting] = [.unsafeFlags(["-warnings-as-errors"])]
let apple: [SwiftSetting] = [
  .unsafeFlags([
    "-warnings-as-errors", "-Xcc", framework, "-Xfrontend", "-import-module", "-Xfrontend", "AppleFoundation",
  ])
]

func stub(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, path: "Stubs/" + name, swiftSettings: checked)
}

/// The README's blocks for apps and extensions, which Scripts/apple-check puts there.
func blocks(_ name: String, _ settings: [SwiftSetting] = []) -> Target {
  .target(
    name: name, dependencies: ["AwareNotificationExtension", "UIKit", "UserNotifications"], path: name,
    swiftSettings: apple + settings)
}

// With each isolation that Xcode gives a target (new projects have the main actor's), and in both language modes.
// Older compilers know neither that, nor a `nonisolated` class.
#if compiler(>=6.2)
  let readme = [
    blocks("Readme"), blocks("ReadmeOnMainActor", [.unsafeFlags(["-default-isolation", "MainActor"])]),
    blocks("ReadmeInSwift5", [.swiftLanguageMode(.v5), .unsafeFlags(["-default-isolation", "MainActor"])]),
  ]
#else
  let readme: [Target] = []
#endif

let package = Package(
  name: "AppleSources",
  targets: [
    stub("CoreFoundationTypes"),
    stub("Security", ["CoreFoundationTypes"]),
    stub("AppleFoundation", ["CoreFoundationTypes", "Security"]),
    stub("CryptoKit", ["COpenSSL"]),
    stub("UserNotifications", ["AppleFoundation"]),
    stub("UIKit", ["AppleFoundation"]),

    .systemLibrary(name: "SystemSQLCipher", path: "Stubs/SystemSQLCipher", pkgConfig: "sqlcipher"),
    .target(
      name: "CSQLCipher", dependencies: ["SystemSQLCipher"], path: "Sources/CSQLCipher",
      cSettings: [.unsafeFlags([framework])]),
    .systemLibrary(name: "COpenSSL", path: "Sources/COpenSSL", pkgConfig: "libcrypto"),
    .target(
      name: "EncryptedSQLite", dependencies: ["CSQLCipher", "CryptoKit", "Security", "AppleFoundation"],
      path: "Sources/EncryptedSQLite", exclude: others("Sources/EncryptedSQLite"), swiftSettings: apple),
    .target(
      name: "NotificationStore", dependencies: ["EncryptedSQLite", "AppleFoundation"],
      path: "Sources/NotificationStore", exclude: others("Sources/NotificationStore"), swiftSettings: apple),
    .target(
      name: "NotificationSync", dependencies: ["NotificationStore", "Security", "AppleFoundation"],
      path: "Sources/NotificationSync", exclude: others("Sources/NotificationSync"), swiftSettings: apple),
    // The proxy needs Objective-C: a stand-in is beside the sources.
    .target(
      name: "com.awareframework.ios.sensor.notification",
      dependencies: ["NotificationSync", "UIKit", "UserNotifications", "Security", "AppleFoundation"],
      path: "Facade",
      exclude: others("Facade/Sources", prefix: "Sources/") + ["Sources/NotificationDelegateProxy+Apple.swift"],
      swiftSettings: apple),
    .target(
      name: "AwareNotificationExtension",
      dependencies: ["com.awareframework.ios.sensor.notification", "UserNotifications", "AppleFoundation"],
      path: "Sources/AwareNotificationExtension", exclude: others("Sources/AwareNotificationExtension"),
      swiftSettings: apple),
    .testTarget(
      name: "AppleSourcesTests",
      dependencies: [
        "AwareNotificationExtension", "com.awareframework.ios.sensor.notification", "NotificationSync",
        "NotificationStore",
        "EncryptedSQLite", "Security", "UserNotifications", "AppleFoundation",
      ],
      path: "Tests", swiftSettings: apple),
  ] + readme,
  swiftLanguageModes: [.v6]
)
