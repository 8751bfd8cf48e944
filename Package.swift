// swift-tools-version: 6.0
import PackageDescription

// The manifest's `#if` tests the host, so that a Linux machine never fetches the Apple-only dependency;
// `.when(platforms:)` keeps it out of a Linux build started on a Mac.
#if canImport(Darwin)
  let dependencies: [Package.Dependency] = [
    .package(url: "https://github.com/sqlcipher/SQLCipher.swift.git", from: "4.14.0")
  ]
  let cLibraries: [Target] = [
    .target(
      name: "CSQLCipher",
      dependencies: [
        .product(
          name: "SQLCipher", package: "SQLCipher.swift",
          condition: .when(platforms: [.iOS, .macOS, .macCatalyst, .visionOS]))
      ],
      path: "Sources/CSQLCipher+Apple")
  ]
  let cryptography: [Target.Dependency] = []
  let network: [Target.Dependency] = []
  let privacyManifest: [Resource] = [.process("PrivacyInfo.xcprivacy")]
  let applesFiles: [String] = []
#else
  let dependencies: [Package.Dependency] = []
  let cLibraries: [Target] = [
    .systemLibrary(name: "CSQLCipher", pkgConfig: "sqlcipher", providers: [.apt(["libsqlcipher-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
  ]
  let cryptography: [Target.Dependency] = ["COpenSSL"]
  let network: [Target.Dependency] = ["CCurl", "COpenSSL"]
  let privacyManifest: [Resource] = []
  let applesFiles = ["PrivacyInfo.xcprivacy"]
#endif

let package = Package(
  name: "com.awareframework.ios.sensor.notification",
  platforms: [.iOS(.v13), .macOS(.v10_15)],
  products: [
    .library(
      name: "com.awareframework.ios.sensor.notification", targets: ["com.awareframework.ios.sensor.notification"]),
    .library(name: "EncryptedSQLite", targets: ["EncryptedSQLite"]),
    .library(name: "NotificationStore", targets: ["NotificationStore"]),
    .library(name: "NotificationSync", targets: ["NotificationSync"]),
    .library(name: "AwareNotificationExtension", targets: ["AwareNotificationExtension"]),
    .executable(name: "aware-notification", targets: ["aware-notification"]),
  ],
  dependencies: dependencies,
  targets: cLibraries + [
    .target(name: "CCommandLine"),
    .target(name: "EncryptedSQLite", dependencies: ["CSQLCipher"] + cryptography),
    .target(name: "NotificationStore", dependencies: ["EncryptedSQLite"]),
    .target(name: "NotificationSync", dependencies: ["EncryptedSQLite", "NotificationStore"] + network),
    // The dots make the module's name com_awareframework_ios_sensor_notification.
    .target(
      name: "com.awareframework.ios.sensor.notification",
      dependencies: ["EncryptedSQLite", "NotificationStore", "NotificationSync"], exclude: applesFiles,
      resources: privacyManifest),
    .target(
      name: "AwareNotificationExtension",
      dependencies: [
        "EncryptedSQLite", "NotificationStore", "NotificationSync", "com.awareframework.ios.sensor.notification",
      ], exclude: applesFiles, resources: privacyManifest),
    .executableTarget(
      name: "aware-notification",
      dependencies: [
        "CCommandLine", "NotificationStore", "NotificationSync", "com.awareframework.ios.sensor.notification",
      ]),
    // A program that the tests start, stop and kill: it does to a store what an app would.
    .executableTarget(
      name: "store-helper",
      dependencies: [
        "AwareNotificationExtension", "NotificationStore", "NotificationSync",
        "com.awareframework.ios.sensor.notification",
      ],
      path: "Tests/StoreHelper"),
    .target(
      name: "TestSupport", dependencies: ["NotificationStore", "CSQLCipher"], path: "Tests/TestSupport"),
    .testTarget(name: "EncryptedSQLiteTests", dependencies: ["TestSupport", "EncryptedSQLite", "CSQLCipher"]),
    .testTarget(
      name: "NotificationStoreTests", dependencies: ["TestSupport", "NotificationStore", "store-helper"],
      resources: [.copy("Fixtures")]),
    .testTarget(
      name: "NotificationSyncTests",
      dependencies: ["TestSupport", "NotificationSync", "NotificationStore", "store-helper"]),
    .testTarget(
      name: "SensorTests",
      dependencies: [
        "TestSupport", "NotificationStore", "NotificationSync", "store-helper",
        "com.awareframework.ios.sensor.notification",
      ]),
    .testTarget(
      name: "AwareNotificationExtensionTests",
      dependencies: [
        "TestSupport", "AwareNotificationExtension", "NotificationStore", "NotificationSync", "store-helper",
        "com.awareframework.ios.sensor.notification",
      ]),
    // An app's own tests, written for the public sensor, are in the older language mode.
    .testTarget(
      name: "DropInTests", dependencies: ["com.awareframework.ios.sensor.notification"],
      swiftSettings: [.swiftLanguageMode(.v5)]),
    // The receiver in Examples, and what the tests of uploads stand on.
    .testTarget(name: "ReceiverTests", dependencies: ["TestSupport"], exclude: ["test_receiver.py"]),
    .testTarget(
      name: "CommandLineTests",
      dependencies: ["TestSupport", "NotificationStore", "aware-notification", "store-helper"]),
  ],
  swiftLanguageModes: [.v6]
)
