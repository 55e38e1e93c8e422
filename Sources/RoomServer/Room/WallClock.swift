import Glibc

/// The system's wall clock, in the units of the wire.
enum WallClock {
  /// Microseconds since 1970.
  static func microseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) &* 1_000_000 &+ Int64(now.tv_nsec) / 1000
  }

  /// Milliseconds since 1970.
  static func milliseconds() -> Int64 { microseconds() / 1000 }

  /// Seconds since 1970.
  static func seconds() -> Int64 { microseconds() / 1_000_000 }
}
