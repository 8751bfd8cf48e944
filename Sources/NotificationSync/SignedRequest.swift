import EncryptedSQLite
import Foundation

/// Makes the request of a body: its digest, its idempotency key, and its signature if there is a key.
struct SignedRequest {
  let place: UploadPlace
  let contentType: String
  let idempotencyKey: String
  let body: [UInt8]
  /// SHA-256 of the body.
  let digest: [UInt8]
  /// What the signature is for, so that one of a batch says nothing about a receipt.
  let tag: String

  /// - Parameter time: of the signature, Unix seconds. Each attempt has its own.
  func request(key: SigningKey?, time: Int64) -> HTTPRequest {
    // RFC 9530, section 2.
    let contentDigest = "sha-256=:\(Data(digest).base64EncodedString()):"
    let quotedKey = MessageSignature.quoted(idempotencyKey)
    var headers: [(name: String, value: String)] = [
      ("Content-Type", contentType), ("Accept", "application/json"), ("User-Agent", "aware-notification"),
      ("Content-Digest", contentDigest), ("Idempotency-Key", quotedKey),
    ]
    if let key {
      let signature = MessageSignature(
        components: [
          ("@method", "POST"), ("@authority", place.authority), ("@path", place.path), ("content-type", contentType),
          ("content-digest", contentDigest), ("idempotency-key", quotedKey),
        ],
        parameters: [
          ("created", "\(time)"), ("keyid", MessageSignature.quoted(key.id)), ("tag", MessageSignature.quoted(tag)),
        ])
      headers.append(("Signature-Input", "sig1=\(signature.input)"))
      headers.append(("Signature", "sig1=\(signature.value(key))"))
    }
    return HTTPRequest(url: place.url, headers: headers, body: body)
  }
}
