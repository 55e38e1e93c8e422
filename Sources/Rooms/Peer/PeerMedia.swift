import MediaCore
import Session
import Signaling
import Transport

/// The peer connection of a two-party room, one number (generation) for each, and the data channel on which both sides
/// say how they are. A pure value; times are moments of one monotonic clock.
///
/// ```
///            open               connected, heard
///   closed ───────► connecting ──────────────────► up
///     ▲                 │          connected, heard ▲ │ goDown
///     │ close           │                           │ ▼
///     └─────────────────┴──────────────────────── down
/// ```
/// `heard` counts only while the transport says that it is connected. While up, a side that has spoken on the channel
/// must be heard again within `quietTime` (`isQuiet`).
struct PeerMedia: Sendable {
  /// What a change of the transport comes to.
  enum Change: Hashable, Sendable {
    case none
    case connected
    /// The transport hears nothing any more.
    case interrupted
    /// It is over.
    case failed
  }

  private struct Connection: Sendable {
    var state = TransportState.new
    var isUp = false
    var sections: [MediaSection] = []
    /// When something came last.
    var heardAt = Instant.distantPast
    /// True once the other side says something each second: then silence means loss.
    var hasHeartbeat = false
    /// When to speak on the channel; nil until it is open.
    var sayAt: Instant?
    /// What the other side says of itself.
    var isCameraOn = true
    var isMicrophoneOn = true
  }

  /// How long a connection with a heartbeat may be silent.
  static let quietTime = Duration.milliseconds(2500)
  /// How often the own state is told.
  static let heartbeat = Duration.seconds(1)

  /// The number of the newest connection; 0 before the first.
  private(set) var generation = 0
  private var connection: Connection?

  /// No connection.
  init() {}

  /// Whether media flows.
  var isUp: Bool { connection?.isUp ?? false }

  /// Whether what happened belongs to the connection that there is.
  func isCurrent(_ generation: Int) -> Bool { connection != nil && generation == self.generation }

  /// When something is due by time; nil for never.
  var nextDeadline: Instant? {
    guard let quietAt else { return connection?.sayAt }
    return min(quietAt, connection?.sayAt ?? quietAt)
  }

  private var quietAt: Instant? {
    guard let connection, connection.hasHeartbeat, connection.isUp else { return nil }
    return connection.heardAt + Self.quietTime
  }

  // MARK: The connection

  /// Another connection takes the place of the one before.
  mutating func open() {
    generation += 1
    connection = Connection()
  }

  /// There is none any more.
  mutating func close() { connection = nil }

  /// The transport changed.
  mutating func changed(_ state: TransportState, at now: Instant) -> Change {
    guard connection != nil else { return .none }
    connection?.state = state
    switch state {
    case .connected:
      connection?.heardAt = now
      connection?.isUp = true
      return .connected
    case .disconnected: return .interrupted
    case .failed: return .failed
    case .new, .connecting, .closed: return .none
    }
  }

  /// Something came. True when media flows again by that.
  mutating func heard(at now: Instant) -> Bool {
    connection?.heardAt = now
    guard let connection, !connection.isUp, connection.state == .connected else { return false }
    self.connection?.isUp = true
    return true
  }

  /// Media flows no longer; false when it didn't.
  mutating func goDown() -> Bool {
    defer { connection?.isUp = false }
    return isUp
  }

  /// Whether a side that speaks each second was not heard for too long.
  func isQuiet(at now: Instant) -> Bool { quietAt.map { $0 <= now } ?? false }

  // MARK: Tracks

  /// Both descriptions are applied: what the other side sends.
  mutating func applied(_ sections: [MediaSection]) { connection?.sections = sections }

  /// The tracks of somebody, by the m-lines that carry them: the first of a kind is camera or microphone, the second a
  /// shared screen's.
  func tracks(of identity: ParticipantIdentity) -> [(mid: MID, track: Track)] {
    guard let connection else { return [] }
    var counts: [MediaKind: Int] = [:]
    return connection.sections.filter(\.isActive).compactMap { section in
      let position = counts[section.kind, default: 0]
      counts[section.kind] = position + 1
      let source: TrackSource
      switch (section.kind, position) {
      case (.video, 0): source = .camera
      case (.audio, 0): source = .microphone
      case (.video, 1): source = .screenShare
      case (.audio, 1): source = .screenShareAudio
      default: return nil
      }
      let isMuted = source == .camera ? !connection.isCameraOn : source == .microphone && !connection.isMicrophoneOn
      let track = Track(
        id: TrackID("\(identity)/\(source.rawValue)/\(generation)"), participant: identity, kind: section.kind,
        source: source, name: source.rawValue, isMuted: isMuted)
      return (section.mid, track)
    }
  }

  // MARK: Data channel

  /// The channel can be used: the first word is due.
  mutating func channelOpened(at now: Instant) { connection?.sayAt = now }

  /// Something is otherwise than it was said: it is said at once, where the channel can be used.
  mutating func sayNow(at now: Instant) { if connection?.sayAt != nil { connection?.sayAt = now } }

  /// Whether a word is due now; it counts as said then.
  mutating func mustSay(at now: Instant) -> Bool {
    guard let due = connection?.sayAt, due <= now else { return false }
    connection?.sayAt = now + Self.heartbeat
    return true
  }

  /// What the other side said of its camera and microphone.
  mutating func take(_ message: PeerMessage) {
    connection?.hasHeartbeat = true
    if let isOn = message.camera { connection?.isCameraOn = isOn }
    if let isOn = message.microphone { connection?.isMicrophoneOn = isOn }
  }
}
