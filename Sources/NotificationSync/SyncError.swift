import EncryptedSQLite

/// What went wrong in an upload: a code to act on, and a sentence that says what happened and what to do.
///
/// The sentences name scheme, host and port at the most: paths hold the study's key.
public typealias SyncError = DatabaseError

extension DatabaseError.Code {
  // Settings.

  /// The settings of an upload contradict each other, or lack one. Nothing was sent.
  public static let invalidSyncSettings = Self(rawValue: "invalidSyncSettings")

  // Reaching the server. Nothing was marked as sent.

  /// The server cannot be reached, or the connection broke.
  public static let connectionFailed = Self(rawValue: "connectionFailed")
  /// The server did not answer in time.
  public static let timedOut = Self(rawValue: "timedOut")
  /// The server is not the one it should be, or speaks no TLS of ours: certificate, name, public-key pin or version.
  public static let untrustedServer = Self(rawValue: "untrustedServer")
  /// The answer is not HTTP.
  public static let invalidResponse = Self(rawValue: "invalidResponse")

  // What the server said. Nothing was marked as sent.

  /// The server refused a batch.
  public static let refused = Self(rawValue: "refused")
  /// The server asks for another place or another login. Redirects are never followed.
  public static let redirected = Self(rawValue: "redirected")
  /// The server cannot take it now; the batch waits.
  public static let serverUnavailable = Self(rawValue: "serverUnavailable")

  // Here.

  /// Another process syncs this store now.
  public static let syncBusy = Self(rawValue: "syncBusy")
}
