import Glibc
public import MediaCore

/// The clock that media runs on: it never leaps and never goes back, and means nothing outside this machine.
public enum MonotonicClock {
  /// This moment (`CLOCK_MONOTONIC`). Any thread.
  public static var now: Instant { Instant(nanoseconds: read(CLOCK_MONOTONIC)) }

  /// Holds the thread up until a moment, unless it has passed; gives the moment at which the thread goes on.
  public static func sleep(until moment: Instant) -> Instant {
    let now = now
    guard now < moment else { return now }
    var time = moment.timespec
    while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    return Self.now
  }
}

extension Instant {
  /// As the system counts `CLOCK_MONOTONIC`.
  package var timespec: timespec {
    Glibc.timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  }
}

/// What this process has worked.
public enum ProcessorClock {
  /// Processor time of all its threads since it began (`CLOCK_PROCESS_CPUTIME_ID`). Any thread.
  public static var now: Duration { .nanoseconds(read(CLOCK_PROCESS_CPUTIME_ID)) }
}

/// The clock of the calendar: it may be set, so it leaps and goes back. Not for measuring.
public enum WallClock {
  /// Nanoseconds since 1970-01-01T00:00:00Z, without leap seconds (`CLOCK_REALTIME`). Any thread.
  public static var nanoseconds: Int64 { read(CLOCK_REALTIME) }

  /// Whole microseconds since 1970.
  public static var microseconds: Int64 { nanoseconds / 1000 }

  /// Whole milliseconds since 1970.
  public static var milliseconds: Int64 { nanoseconds / 1_000_000 }

  /// Whole seconds since 1970.
  public static var seconds: Int64 { nanoseconds / 1_000_000_000 }
}

private func read(_ clock: clockid_t) -> Int64 {
  var time = timespec()
  clock_gettime(clock, &time)
  return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
}
