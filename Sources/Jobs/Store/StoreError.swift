import JobsAPI

/// Why a store did not do what was asked.
public enum StoreError: Error, Hashable, Sendable {
  /// No such job (or schedule, key, file), or not the caller's.
  case notFound
  /// The machine says no.
  case refused(JobRefusal)
  /// The idempotency key was used for something else.
  case keyReused
  /// The request can't be carried out; one line for each reason.
  case invalid([String])
}
