import Foundation

/// Calls `body` while no file of this process may grow past `bytes`. It concerns the whole process: use it in one that
/// does nothing else.
public func withFileSizeLimit<Result>(_ bytes: Int, _ body: () throws -> Result) rethrows -> Result {
  signal(SIGXFSZ, SIG_IGN)
  #if canImport(Darwin)
    let resource = RLIMIT_FSIZE
  #else
    let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
  #endif
  var before = rlimit()
  precondition(getrlimit(resource, &before) == 0)
  var limit = before
  limit.rlim_cur = rlim_t(bytes)
  precondition(setrlimit(resource, &limit) == 0)
  defer { precondition(setrlimit(resource, &before) == 0) }
  return try body()
}
