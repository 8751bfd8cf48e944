/// How far an adoption has come.
package enum AdoptionStage: String, CaseIterable, Sendable {
  /// The logs of the plaintext store have their second names.
  case logsSetAside
  /// The log is folded in, and nobody else can use the file.
  case locked
  /// The old logs are overwritten.
  case logsRemoved
  case copied
  case verified
  /// The plaintext store has its second name.
  case setAside
  /// The encrypted store stands at its path.
  case published
  /// The plaintext's first page is overwritten.
  case shredding
  case shredded
}
