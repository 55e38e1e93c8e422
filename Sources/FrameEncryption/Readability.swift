import MediaCore

/// Whether what comes of one track can be decrypted: a single frame that cannot says nothing, half a second of them does.
public struct Readability: Sendable {
  /// The time in which nothing could be decrypted before it is said.
  static let patience = Duration.milliseconds(500)
  /// And so many frames.
  static let fewest = 3

  private var refused = 0
  private var refusedSince = Instant.distantPast
  /// False after so much was refused, until something is decrypted again.
  public private(set) var isReadable = true

  /// A new track.
  public init() {}

  /// Notes a frame at `now`; true when `isReadable` has changed.
  public mutating func note(isOpened: Bool, at now: Instant) -> Bool {
    guard !isOpened else {
      refused = 0
      defer { isReadable = true }
      return !isReadable
    }
    if refused == 0 { refusedSince = now }
    refused = min(refused + 1, Self.fewest)
    guard isReadable, refused >= Self.fewest, now - refusedSince >= Self.patience else { return false }
    isReadable = false
    return true
  }
}
