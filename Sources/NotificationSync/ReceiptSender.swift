import EncryptedSQLite
import Foundation
import NotificationStore

/// Tells the study's server that a push was delivered: one small signed request each, without any content.
package struct ReceiptSender: Sendable {
  private let place: UploadPlace
  private let deviceId: String
  private let signingKey: SigningKey?
  private let transport: any HTTPTransport

  /// - Returns: nil when no receipts are to be sent.
  /// - Throws: `invalidSyncSettings`.
  package init?(_ settings: SyncSettings, transport: any HTTPTransport) throws {
    guard let url = settings.deliveryReceiptURL, !url.isEmpty else { return nil }
    place = try UploadPlace(url: url, of: "deliveryReceiptURL")
    deviceId = settings.deviceId
    signingKey = settings.signingKey
    self.transport = transport
  }

  /// Sends `receipt`; any 2xx takes it. Sent twice it is known to the server by its record.
  ///
  /// - Parameter now: Unix milliseconds.
  /// - Throws: `refused`, `redirected`, and the errors of the transport.
  package func send(_ receipt: DeliveryReceipt, now: Int64) async throws {
    let body = try JSONSerialization.data(
      withJSONObject: [
        "notificationId": receipt.notificationId, "recordId": receipt.recordId, "receivedAt": receipt.receivedAt,
        "deviceId": deviceId,
      ], options: [.sortedKeys])
    let bytes = Array(body)
    let request = SignedRequest(
      place: place, contentType: "application/json", idempotencyKey: receipt.recordId, body: bytes,
      digest: PlatformCrypto.sha256(bytes), tag: "aware-receipt")
    let response = try await transport.send(request.request(key: signingKey, time: now / 1000))
    guard (200..<300).contains(response.status) else {
      throw SyncError(
        (300..<400).contains(response.status) ? .redirected : .refused,
        "https://\(place.authority) answered \(response.status) to a delivery receipt: check deliveryReceiptURL and the signing key"
      )
    }
  }
}
