/// Admits so many pictures a second at most, in the long run: one may come early by the time of a picture.
struct FrameRateLimit {
  private let interval: Duration
  /// When the next is due; nil before the first.
  private var due: Duration?

  init(_ perSecond: Int) { interval = .seconds(1) / perSecond }

  /// Whether the picture of this time goes on.
  mutating func admits(_ time: Duration) -> Bool {
    let due = due ?? time
    // A hundredth for sources that count in whole milliseconds.
    guard time >= due - interval - interval / 100 else { return false }
    self.due = max(due, time - interval) + interval
    return true
  }
}
