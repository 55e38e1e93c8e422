import JobsAPI

/// What a worker that looked for jobs has got.
public struct JobClaim: Hashable, Sendable {
  /// The jobs that it has now, each with a lease.
  public var jobs: [Job] = []
  /// True when there may be more: it wanted no more, or could not carry them out.
  public var mayLeaveSome = false

  /// Nothing, and nothing left.
  public init() {}
}
