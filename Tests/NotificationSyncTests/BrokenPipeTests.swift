import Foundation
import Testing

@testable import NotificationSync

@Suite("SIGPIPE")
struct BrokenPipeTests {
  @Test("ends no program while it is guarded, nor afterwards")
  func guarded() {
    let before = signal(SIGPIPE, SIG_DFL)
    defer { signal(SIGPIPE, before) }
    var ends: [Int32] = [0, 0]
    pipe(&ends)
    close(ends[0])
    let reason = BrokenPipe.guarded {
      #expect(write(ends[1], "a", 1) == -1)
      return errno
    }
    #expect(reason == EPIPE)
    close(ends[1])
    var pending = sigset_t()
    sigpending(&pending)
    #expect(sigismember(&pending, SIGPIPE) == 0)
  }
}
