/// How long a transport waits, in seconds.
package struct TransportTimeouts: Sendable {
  /// For a connection: name, TCP, proxy and TLS.
  package var connect: Double
  /// For a whole request, from its connection to the last byte of the answer, beside the time of its body.
  package var request: Double
  /// The slowest that a body may go, in bytes a second: a full batch over a slow line needs minutes.
  package var slowest: Double = 8192
  /// For fewer bytes, either way, than 16 a second: also the longest that a server may think before it answers.
  package var stall: Double

  package init(connect: Double = 15, request: Double = 60, stall: Double = 45) {
    self.connect = connect
    self.request = request
    self.stall = stall
  }

  /// For a request with a body of so many bytes.
  package func request(of bytes: Int) -> Double { request + Double(bytes) / slowest }

  /// Nothing takes longer than `limit`.
  package static func within(_ limit: Double) -> Self {
    var timeouts = Self(connect: limit, request: limit, stall: limit)
    timeouts.slowest = .infinity
    return timeouts
  }
}
