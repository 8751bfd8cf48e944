/// How long a transport waits, in seconds.
package struct TransportTimeouts: Sendable {
  /// For a connection: name, TCP, proxy and TLS.
  package var connect: Double
  /// For a whole request, from its connection to the last byte of the answer.
  package var request: Double
  /// For fewer bytes, either way, than 16 a second: also the longest that a server may think before it answers.
  package var stall: Double

  package init(connect: Double = 15, request: Double = 60, stall: Double = 45) {
    self.connect = connect
    self.request = request
    self.stall = stall
  }

  /// Nothing takes longer than `limit`.
  package static func within(_ limit: Double) -> Self { Self(connect: limit, request: limit, stall: limit) }
}
