import NotificationSync
import Testing

@Suite("The TLS policy")
struct TLSPolicyTests {
  @Test("trusts the system's authorities, any key and no proxy until told otherwise")
  func defaults() {
    let policy = TLSPolicy()
    #expect(policy.certificateAuthorities == nil && policy.publicKeyPins.isEmpty && policy.proxy == nil)
  }
}
