import EncryptedSQLite
import Foundation
import NotificationSync

/// One request by the transport, in a process whose environment a test chose.
enum Post {
  /// Prints the status, or the error's code and text, and ends the process.
  static func run(_ url: String, _ options: [String]) -> Never {
    func values(_ name: String) -> [String] {
      options.filter { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
    }
    if options.contains("after-libcurl") { initializeLibcurl() }
    let policy = TLSPolicy(
      certificateAuthorities: values("ca").first, publicKeyPins: values("pin"), clientCertificate: values("cert").first,
      clientKey: values("key").first, proxy: values("proxy").first)
    let request = HTTPRequest(
      url: url, headers: [("Content-Type", "application/json")], body: Array(#"{"rows":[]}"#.utf8))
    Task {
      do {
        let response = try await SystemTransport(policy: policy).send(request)
        say("\(response.status)")
        exit(0)
      } catch let error as SyncError {
        say("\(error.code.rawValue): \(error.message)")
        exit(1)
      }
    }
    dispatchMain()
  }

  /// As other code of a process may, before this package's.
  private static func initializeLibcurl() {
    guard let library = dlopen("libcurl.so.4", RTLD_NOW), let symbol = dlsym(library, "curl_global_init") else {
      fatalError("there is no libcurl")
    }
    typealias Initialize = @convention(c) (Int) -> Int32
    _ = unsafeBitCast(symbol, to: Initialize.self)(3)
  }
}
