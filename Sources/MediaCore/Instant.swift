/// A moment on the clock that media runs on (`MonotonicClock`): it never leaps, and means nothing outside this machine.
public struct Instant: ClockInstant {
  /// Nanoseconds since some moment before the program began.
  public var nanoseconds: Int64

  /// Makes the moment that is so many nanoseconds after the clock's beginning.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
}
