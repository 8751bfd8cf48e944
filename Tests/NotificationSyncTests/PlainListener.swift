import Foundation

/// A port that takes one connection after another, sends each a text and says no more.
final class PlainListener {
  let port: Int
  private let descriptor: Int32

  /// - Parameter seconds: when each connection is closed, if at all.
  init(saying text: String = "", closingAfter seconds: UInt32? = nil) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && listen(descriptor, 8) == 0
          && getsockname(descriptor, address, &length) == 0
      }
    }
    guard isListening else { throw CocoaError(.fileReadUnknown) }
    self.descriptor = descriptor
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread {
      while case let connection = accept(descriptor, nil, nil), connection >= 0 {
        _ = send(connection, text, text.utf8.count, Int32(MSG_NOSIGNAL))
        if let seconds {
          sleep(seconds)
          close(connection)
        }
      }
    }
  }

  deinit {
    shutdown(descriptor, Int32(SHUT_RDWR))
    close(descriptor)
  }
}
