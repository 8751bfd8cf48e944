// swift-tools-version: 6.0
import PackageDescription

// For Linux: `make bench` in the folder above. Targets have names of their own, for SwiftPM wants them unique across
// packages.
let package = Package(
  name: "Benchmarks",
  dependencies: [.package(name: "com.awareframework.ios.sensor.notification", path: "..")],
  targets: [
    .systemLibrary(name: "SQLCipherForC", pkgConfig: "sqlcipher", providers: [.apt(["libsqlcipher-dev"])]),
    .systemLibrary(name: "CryptoForC", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .target(name: "RawC", dependencies: ["SQLCipherForC", "CryptoForC"]),
    .executableTarget(
      name: "store-benchmark",
      dependencies: [
        "RawC",
        .product(name: "EncryptedSQLite", package: "com.awareframework.ios.sensor.notification"),
        .product(name: "NotificationStore", package: "com.awareframework.ios.sensor.notification"),
        .product(name: "NotificationSync", package: "com.awareframework.ios.sensor.notification"),
      ]),
    .executableTarget(
      name: "extension-benchmark",
      dependencies: [
        .product(name: "EncryptedSQLite", package: "com.awareframework.ios.sensor.notification"),
        .product(name: "AwareNotificationExtension", package: "com.awareframework.ios.sensor.notification"),
        .product(name: "NotificationStore", package: "com.awareframework.ios.sensor.notification"),
        .product(
          name: "com.awareframework.ios.sensor.notification", package: "com.awareframework.ios.sensor.notification"),
      ]),
    .executableTarget(name: "empty-process"),
  ],
  swiftLanguageModes: [.v6]
)
