/// What the ledger says of one table: what was sent, and the one batch that may be on its way.
package struct UploadState: Sendable, Equatable {
  /// All rows up to this id were sent, but for those that were set aside.
  package var sentThroughId: Int64 = 0
  package var batch: UploadBatch?
  /// Failed attempts since the last success.
  package var attempts = 0
  /// No attempt before this Unix time in milliseconds, unless somebody insists.
  package var notBefore: Int64 = 0
  /// The most rows in a batch, where the server found more too large.
  package var rowLimit: Int?
  /// When a batch was last taken, in Unix milliseconds.
  package var lastSent: Int64?
  /// What went wrong since, without any content.
  package var lastError: String?
  package var lastErrorTime: Int64?

  package init(sentThroughId: Int64 = 0, batch: UploadBatch? = nil) {
    self.sentThroughId = sentThroughId
    self.batch = batch
  }
}

/// One batch of rows as it was sent, or was about to be: enough to build the same bytes again.
package struct UploadBatch: Sendable, Equatable {
  /// What the receiver knows it by (draft-ietf-httpapi-idempotency-key-header, section 2).
  package var idempotencyKey: String
  package var firstId: Int64
  package var lastId: Int64
  package var rowCount: Int
  /// SHA-256 of the body.
  package var digest: [UInt8]
  /// The time in the batch's envelope, in Unix milliseconds.
  package var envelopeTime: Int64
  package var encoderVersion: Int
  package var serverType: String
  package var destination: String

  package init(
    idempotencyKey: String, firstId: Int64, lastId: Int64, rowCount: Int, digest: [UInt8], envelopeTime: Int64,
    encoderVersion: Int, serverType: String, destination: String
  ) {
    self.idempotencyKey = idempotencyKey
    self.firstId = firstId
    self.lastId = lastId
    self.rowCount = rowCount
    self.digest = digest
    self.envelopeTime = envelopeTime
    self.encoderVersion = encoderVersion
    self.serverType = serverType
    self.destination = destination
  }
}

/// A row that no batch takes along.
package struct QuarantinedRow: Sendable, Equatable {
  package var table: String
  package var id: Int64
  package var reason: String

  package init(table: String, id: Int64, reason: String) {
    self.table = table
    self.id = id
    self.reason = reason
  }
}
