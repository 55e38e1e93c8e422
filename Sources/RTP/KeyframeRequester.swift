/// Says when to send a PLI for one stream: at once, then with growing pauses until a keyframe comes.
public struct KeyframeRequester: Sendable {
  /// Pauses in nanoseconds after the first, second, ... request; the last one goes on.
  private static let pauses: [Int64] = [200_000_000, 500_000_000, 1_000_000_000]

  private var isWanted = false
  private var requests = 0
  private var lastRequest: Int64?
  /// Requests sent since the beginning.
  public private(set) var requestCount = 0

  /// Nothing is wanted yet.
  public init() {}

  /// A keyframe is needed. May be said as often as one likes.
  public mutating func want() { isWanted = true }

  /// A keyframe arrived: nothing is wanted any more.
  public mutating func keyframeReceived() {
    isWanted = false
    requests = 0
  }

  /// What a keyframe was needed for has mended itself.
  public mutating func noLongerNeeded() { keyframeReceived() }

  /// When to poll; nil while nothing is wanted.
  public var deadline: Int64? {
    guard isWanted else { return nil }
    guard let lastRequest else { return .min }
    let index = min(max(0, requests - 1), KeyframeRequester.pauses.count - 1)
    return lastRequest &+ KeyframeRequester.pauses[index]
  }

  /// True when a request shall be sent at `now` (ns); it then counts as sent.
  public mutating func poll(at now: Int64) -> Bool {
    guard let deadline, now >= deadline else { return false }
    lastRequest = now
    requests += 1
    requestCount += 1
    return true
  }
}
