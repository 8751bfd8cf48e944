import EncryptedSQLite
import Foundation

extension NotificationSensor {
  /// Closes the store, and returns when no lock on any of its files is left: iOS ends a suspended app that holds one on a
  /// file of a shared container. Call it when the app goes to the background, at the end of its background task.
  ///
  /// A sync that runs is ended. What arrives until ``resume()`` is stored all the same, with the store open for its own
  /// time only. While another process holds the store it may wait for many seconds: call it off the main thread, inside a
  /// background task of the app's, and not from a Swift task.
  public func suspend() {
    uploads.end()
    closeAndWait()
  }

  /// Opens the store again, and takes in what an extension sealed beside it meanwhile.
  public func resume() { prepareStore() }
}
