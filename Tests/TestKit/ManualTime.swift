/// A clock that a test moves by hand: monotonic nanoseconds.
public struct ManualTime: Sendable {
  /// The present moment, in nanoseconds.
  public private(set) var now: Int64

  /// A clock that stands at `now`.
  public init(_ now: Int64 = 0) { self.now = now }

  /// Lets so many milliseconds pass.
  public mutating func advance(milliseconds: Int64) { advance(to: now &+ milliseconds &* 1_000_000) }

  /// Lets time pass until a moment; nothing happens when that has been already.
  public mutating func advance(to moment: Int64) { now = max(now, moment) }
}
