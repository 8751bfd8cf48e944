#if canImport(CCurl)
  import Foundation

  /// Keeps `SIGPIPE`, which ends a program, away from code that writes to sockets.
  ///
  /// OpenSSL raises it by writing to a connection that the server has reset. libcurl's own guard changes the whole
  /// process, and two threads undo each other's.
  enum BrokenPipe {
    /// Calls `body`; on this thread the signal is held back meanwhile, and one that `body` raised is dropped.
    static func guarded<Result>(_ body: () throws -> Result) rethrows -> Result {
      var (signals, before) = (sigset_t(), sigset_t())
      sigemptyset(&signals)
      sigaddset(&signals, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &signals, &before)
      defer {
        // One that was held back before is somebody else's.
        if sigismember(&before, SIGPIPE) == 0 {
          var now = timespec()
          while sigtimedwait(&signals, nil, &now) == SIGPIPE {}
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
      }
      return try body()
    }
  }
#endif
