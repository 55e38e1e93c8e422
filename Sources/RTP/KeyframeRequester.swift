import MediaCore

/// Owns "a keyframe is wanted" of one stream: who wants it says why, and this says when to send a PLI (RFC 4585 section
/// 6.3.1): at once, then with growing pauses until a keyframe comes.
public struct KeyframeRequester: Sendable {
  /// Why a keyframe is wanted.
  public struct Reason: OptionSet, Sendable {
    /// The reasons as bits.
    public let rawValue: UInt8
    /// Makes reasons of bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Packets are missing (`JitterBuffer.needsKeyframe`). They may still come: this wish can be withdrawn.
    public static let gap = Reason(rawValue: 1)
    /// Whoever takes the frames can do nothing without one: it has not begun, or what it had of the stream is of no use.
    public static let consumer = Reason(rawValue: 2)
  }

  /// Pauses after the first, second, ... request; the last one goes on.
  private static let pauses: [Duration] = [.milliseconds(200), .milliseconds(500), .seconds(1)]

  private var reasons: Reason = []
  private var requests = 0
  private var lastRequest: Instant?
  /// Requests sent since the beginning.
  public private(set) var requestCount = 0

  /// Nothing is wanted yet.
  public init() {}

  /// A keyframe is wanted. May be said as often as one likes.
  public mutating func want(_ reason: Reason) { reasons.formUnion(reason) }

  /// What a keyframe was wanted for has mended itself; other reasons stay.
  public mutating func withdraw(_ reason: Reason) {
    reasons.subtract(reason)
    if reasons.isEmpty { requests = 0 }
  }

  /// A keyframe arrived: nothing is wanted any more.
  public mutating func keyframeReceived() {
    reasons = []
    requests = 0
  }

  /// When to poll; nil while nothing is wanted.
  public var deadline: Instant? {
    guard !reasons.isEmpty else { return nil }
    guard let lastRequest else { return .distantPast }
    let index = min(max(0, requests - 1), KeyframeRequester.pauses.count - 1)
    return lastRequest + KeyframeRequester.pauses[index]
  }

  /// True when a request shall be sent at `now`; it then counts as sent.
  public mutating func poll(at now: Instant) -> Bool {
    guard let deadline, now >= deadline else { return false }
    lastRequest = now
    requests += 1
    requestCount += 1
    return true
  }
}
