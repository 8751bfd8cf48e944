/// Carries a value that is not `Sendable` to the queue where it is used.
///
/// - Note: `@unchecked Sendable`: who makes one sees to it that only one queue uses the value, or that the value can
///   bear several threads.
struct Carried<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
